import type { EventFilter } from "../../event/filter.ts";
import type { Counting } from "./counting.ts";

/** In which periods users are active: those in which they have an event that matches. */
export type ActivityQuery = Counting & {
  projectId: number;
  /** Without times. */
  filter: EventFilter;
  /** The start of each period, and the end of the last; milliseconds since 1970, ascending. At most 100 periods. */
  bounds: number[];
  /**
   * A user is new in the period of their first event ever: where the project's events begin, milliseconds since 1970.
   * Null: in that of their first event within `bounds`.
   */
  historyFromMs: number | null;
};

export type Activity = {
  /** Active in any period. */
  users: number;
  periods: { active: number; new: number }[];
  /** By the number of periods, from 1 on: how many users were active in exactly so many. */
  byCount: number[];
  /** By the number of periods at the end, from 1 on: how many users were active in any of so many. */
  last: number[];
};

/** Users of a number of an activity. */
export type CountedActiveUsers = {
  of: "activity";
  activity: ActivityQuery;
  which: /** Active in a period, with their first event in it; only those who are new or not new in it. */
    | { period: number; isNew?: boolean | undefined }
    /** Active in exactly so many periods, with their last event. */
    | { count: number }
    /** Active in any of so many periods at the end, with their last event. */
    | { last: number };
};
