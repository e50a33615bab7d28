export type RowOptions = {
  /** How long each load and each question takes. */
  seconds: number;
  /** Load that isn't counted before it. */
  warmupMs: number;
  rounds: number;
  /** How many events the stores hold. */
  events: number;
  log(message: string): void;
};

/** A table of the page, how many counterparts failed, and the versions of what was measured. */
export type Measured = { table: string; failed: number; sources: string };

/** Measures one table of the page. */
export type Row = (options: RowOptions) => Promise<Measured>;
