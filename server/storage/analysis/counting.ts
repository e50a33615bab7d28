/** Whom an analysis counts: people or, with a type, groups. An event counts for each group that it belongs to. */
export type Counting = {
  /** The type of the groups. A split by groups must be of the same type then: a group has its own value. */
  per?: string | undefined;
};
