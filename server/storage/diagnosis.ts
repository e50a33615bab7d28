/** A fault of a database, and the part that can be rebuilt. */
export type Diagnosis = {
  part: "pages" | "version" | "index" | "counters" | "blocks" | "ids";
  detail: string;
};
