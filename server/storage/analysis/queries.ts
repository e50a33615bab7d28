import type { EventFilter } from "../../event/filter.ts";
import type { MsRange } from "../block.ts";
import type { Split } from "../split.ts";

/** How an analysis is followed. */
export type Watch = {
  /** Ends it. */
  signal?: AbortSignal;
  /** Called from time to time with the share of the range that was read, 0 to 1. */
  onProgress?: (share: number) => void;
};

/** `users` are different users; the others are of a tag's numbers. */
export type Metric = "users" | "sum" | "average" | "minimum" | "maximum";

export type Measured = {
  /** Events in each bucket; of a tag, those with a number. */
  counts: number[];
  /** Null for a bucket without numbers. */
  values: (number | null)[];
  /** In the whole range. */
  overall: number | null;
};

export type MeasureQuery = {
  projectId: number;
  /** Without `fromMs` and `toMs`: `bounds` has them. */
  filter: EventFilter;
  /** The start of each bucket, and the end of the last; milliseconds since 1970, ascending. */
  bounds: number[];
  metric: Metric;
  /** The tag whose numbers are measured; not for `users`. */
  tag?: string | undefined;
  split?: Split | undefined;
  /** How many series a split returns, the largest ones. */
  series: number;
  /** The only values that a split looks at; all others are the rest. All by default. */
  values?: readonly string[] | undefined;
};

export type Measures = {
  all: Measured;
  series: (Measured & { value: string })[];
  /** All other events of a split; null if there are none. */
  rest: Measured | null;
  /** Events whose tag is not a number. */
  ignored: number;
};

export type FunnelQuery = {
  projectId: number;
  range: MsRange;
  /** A filter for each step, without times. */
  steps: EventFilter[];
  windowMs: number;
  split?: Split | undefined;
  /** How many series a split returns, those with the most users. */
  series: number;
};

/** For each step: users who took it, and the median time since the step before; null without users. */
export type FunnelStepResult = { users: number; medianMs: number | null };

export type FunnelResult = {
  steps: FunnelStepResult[];
  series: { value: string; steps: FunnelStepResult[] }[];
  /** Users whose first step has no other value; null if there are none. */
  rest: FunnelStepResult[] | null;
};

export type RetentionQuery = {
  projectId: number;
  /** The start of each period, and the end of the last; milliseconds since 1970, ascending. */
  bounds: number[];
  /** Without times. */
  start: EventFilter;
  return: EventFilter;
};

/** Users whose first start is in a period, and how many of them returned in this period and in each later one. */
export type Cohort = { users: number; returned: number[] };
