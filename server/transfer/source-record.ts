/** A file can't be read to its end, for example because a quote isn't closed. The message says why. */
export class UnreadableFileError extends Error {}

/** A record of a file: a line of JSON, an item of an array, or a row. `fault` says why it can't be read. */
export type SourceRecord = {
  /** Counts from 1, without blank lines and the header. */
  number: number;
  /** The line of the file where it begins, from 1. */
  line: number;
  /** As in the file, without a line break at the end. */
  text: string;
  value: unknown;
  fault?: string;
};
