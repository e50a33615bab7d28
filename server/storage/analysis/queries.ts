import type { EventFilter } from "../../event/filter.ts";
import type { UserSet } from "../../event/user-set.ts";
import type { MsRange } from "../block.ts";
import type { Split } from "../split.ts";
import type { CountedActiveUsers } from "./activity-queries.ts";
import type { Counting } from "./counting.ts";
import type { CountedPathUsers } from "./path-queries.ts";

/** How an analysis is followed. */
export type Watch = {
  /** Ends it. */
  signal?: AbortSignal;
  /** Called from time to time with the share of the range that was read, 0 to 1. */
  onProgress?: (share: number) => void;
};

/** A dimension of users: the value of a property, as it is now. */
export type PropertySplit = { by: "user"; key: string };

/**
 * A dimension of groups of a type: the groups that an event belongs to, as in a search for `company:acme`, or the values
 * that these have of a property. An event can have several, and counts for each.
 */
export type GroupSplit = { by: "group"; type: string; key?: string | undefined };

export type AnalysisSplit = Split | PropertySplit | GroupSplit;

/** `users` are different users; all but `events` are of a tag's numbers. */
export type Metric = "events" | "users" | "sum" | "average" | "minimum" | "maximum";

export type Measured = {
  /** Events in each bucket; of a tag, those with a number. */
  counts: number[];
  /** Null for a bucket without numbers. */
  values: (number | null)[];
  /** In the whole range. */
  overall: number | null;
};

export type MeasureQuery = Counting & {
  projectId: number;
  /** Without `fromMs` and `toMs`: `bounds` has them. */
  filter: EventFilter;
  /** The start of each bucket, and the end of the last; milliseconds since 1970, ascending. */
  bounds: number[];
  metric: Metric;
  /** The tag whose numbers are measured; not for `events` and `users`. */
  tag?: string | undefined;
  split?: AnalysisSplit | undefined;
  /** How many series a split returns, the largest ones. */
  series: number;
  /** The only values that a split looks at; all others are the rest. All by default. */
  values?: readonly string[] | undefined;
};

export type Measures = {
  all: Measured;
  series: (Measured & { value: string })[];
  /** All other events of a split; null if there are none. `value`: what all of them have, null if they differ. */
  rest: (Measured & { value: string | null }) | null;
  /** Events whose tag is not a number. */
  ignored: number;
};

/** The steps that users are followed through. */
export type FollowQuery = Counting & {
  projectId: number;
  range: MsRange;
  /** A filter for each step, without times. */
  steps: EventFilter[];
  windowMs: number;
  split?: AnalysisSplit | undefined;
};

/** `series`: how many a split returns, those with the most users. */
export type FunnelQuery = FollowQuery & { series: number };

/** Users who took so long, from `fromMs` on to before `toMs`; null: any longer time. */
export type TimeBucket = { fromMs: number; toMs: number | null; users: number };

/**
 * For each step: users who took it, and their times since the step before. The median, and the time within which 90% of
 * them took it, are null without users. `times` are the buckets from the shortest time to the longest.
 */
export type FunnelStepResult = {
  users: number;
  medianMs: number | null;
  p90Ms: number | null;
  times: TimeBucket[];
};

export type FunnelResult = {
  steps: FunnelStepResult[];
  series: { value: string; steps: FunnelStepResult[] }[];
  /** Users whose first step has no other value; null if there are none. */
  rest: FunnelStepResult[] | null;
};

export type RetentionQuery = Counting & {
  projectId: number;
  /** The start of each period, and the end of the last; milliseconds since 1970, ascending. */
  bounds: number[];
  /** Without times. */
  start: EventFilter;
  return: EventFilter;
  /**
   * Cohorts are by a user's first start ever: where the project's events begin, milliseconds since 1970. Null: by the
   * first start within `bounds`, whatever was before.
   */
  historyFromMs: number | null;
};

/** Users whose first start is in a period, and how many of them returned in this period and in each later one. */
export type Cohort = { users: number; returned: number[] };

/** Users that a number of an analysis counts, each because of one event. */
export type CountedUsers =
  /** Those with an event that matches; it is their last one. */
  | {
      of: "events";
      per?: string | undefined;
      filter: EventFilter;
      range: MsRange;
      /** Only those with this value of a property. */
      property?: { key: string; value: string } | undefined;
    }
  /** Those who took a step, from 1 on, with the event that took it. */
  | {
      of: "funnel";
      funnel: FollowQuery;
      step: number;
      /** Only those who took no step after it. */
      isLast: boolean;
      /** Only those whose first step has this value of the split. */
      value?: string | undefined;
      /** Only those who took so long since the step before, from `fromMs` on to before `toMs`. */
      took?: MsRange | undefined;
    }
  /** Those of a cohort with their start, or those who returned in a period with their first return in it. */
  | {
      of: "cohort";
      retention: RetentionQuery;
      cohort: number;
      /** In how many periods after the start, 0 is the same; null: all users of the cohort. */
      period: number | null;
    }
  | CountedPathUsers
  | CountedActiveUsers;

/** People with at least so many events that match. */
export type UsersWithQuery = {
  projectId: number;
  /** Without times. */
  filter: EventFilter;
  range: MsRange;
  /** From 1 on. */
  atLeast: number;
  /** Also finds the first event before this time that somebody can't do without (`firstLossMs`). */
  edgeToMs?: number | undefined;
};

export type UsersWith = {
  /** Their main IDs. */
  users: UserSet;
  /** The `createdAt` of an event: as soon as the range begins after it, its person has too few. Null if there is none. */
  firstLossMs: number | null;
};

/**
 * The place of a user, or of a group, in a list: the time of the event that counts, and the hash of the id as hexadecimal
 * digits.
 */
export type CountedUser = { ms: number; hash: string };

export type CountedUsersQuery = {
  projectId: number;
  counted: CountedUsers;
  /** The last user of the page before. */
  after?: CountedUser | undefined;
  limit: number;
};

/** A page of users: the newest event first, then by hash. `total` counts all of them. */
export type CountedUsersPage = { total: number; users: CountedUser[] };
