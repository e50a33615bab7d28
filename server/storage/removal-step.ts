/**
 * Events that a job removes in one commit. It takes some milliseconds, the merging of the search index included, for which
 * new events may have to wait.
 */
export const removalStep = 50;
