/** What is wrong in a database, and which part of it can be rebuilt. */
export type Diagnosis = {
  part: "pages" | "version" | "index" | "counters" | "blocks" | "ids";
  detail: string;
};
