import type { EventFilter } from "../../event/filter.ts";
import type { MsRange } from "../block.ts";
import type { Split } from "../split.ts";
import type { RetentionQuery, Watch } from "./queries.ts";

/**
 * What an engine counts by itself, instead of passing on each event. It returns null for what it can't count: then all
 * events that match are scanned.
 */
export type Aggregates = {
  /** Counts users. All that the counter returns is of the same events. */
  users: <Result>(
    query: UserCountQuery,
    watch: Watch,
    count: (counter: UserCounter) => Promise<Result>,
  ) => Promise<Result | null>;
  returns: (query: RetentionQuery, watch: Watch) => Promise<ReturnCount[] | null>;
  /** Passes on the events of users that can be steps, person by person. Returns false if it can't. */
  steps: (query: StepsQuery, watch: Watch, take: (events: StepEvents) => Promise<void>) => Promise<boolean>;
};

type StepsQuery = {
  projectId: number;
  /** A filter for each step, without times. */
  filters: readonly EventFilter[];
  range: MsRange;
  split: Split | undefined;
};

/** Events of one person after the other, each's in the order of time. A person can go on in the next ones. */
export type StepEvents = {
  /** Two words for each event, which only tell people apart. */
  persons: Uint32Array;
  ms: Float64Array;
  /** Bit n is set if the event can be step n. */
  masks: Uint8Array;
  /** The values of the split: an index of `texts` from 1 on, 0 for none. */
  values: { indexes: Uint32Array; texts: string[] } | null;
};

type UserCountQuery = {
  projectId: number;
  /** Without times. */
  filter: EventFilter;
  range: MsRange;
  split: Split | undefined;
  /** The only values that the split looks at. */
  values: readonly string[] | undefined;
};

export type UserCounter = {
  /** Of each value of the split, and of events without one; at most so many, in any order. */
  byValue: (most: number) => Promise<UserCount[]>;
  /** Of each bucket with events and of all; with a split, the same for each of the values, and for all others. */
  byBucket: (bounds: readonly number[], values: readonly string[]) => Promise<UserCell[]>;
};

/** Events with a value, null for none, and how many users they have. */
export type UserCount = { value: string | null; events: number; users: number };

/** `series`: the value, from 1 on, or 0 for others; null for all events. `bucket`: null for the whole range. */
export type UserCell = { series: number | null; bucket: number | null; events: number; users: number };

/** Users whose first start is in a period, and who returned in another one; null: all users with this start. */
export type ReturnCount = { cohort: number; period: number | null; users: number };
