/** A segment that is to be shipped: changes of the database of some seconds. */
type WaitingSegment = { name: string; file: string; bytes: number };

/** The changes of the database, for continuous backups. */
export interface SegmentSource {
  /** The unbroken sequence of changes that is being captured; null if none is. */
  readonly generation: string | null;
  /** Why the last generation ended, if it had to: changes are missing after it. */
  readonly interruption: string | null;
  /** The time of the oldest change that was captured and not shipped. */
  readonly unshippedSinceMs: number | null;
  /** The oldest first. */
  readonly waiting: readonly WaitingSegment[];
  /** Begins a generation. It can be restored once a backup was made after this. */
  begin(): Promise<void>;
  /** Captures what was committed until now, and has it wait. */
  cut(): Promise<void>;
  /** Removes a segment that is at its target. */
  shipped(name: string): Promise<void>;
}
