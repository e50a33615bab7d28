import type { EventFilter } from "../../event/filter.ts";
import type { MsRange } from "../block.ts";

/** Follows users after or before an event, the anchor. */
export type FollowPathsQuery = {
  projectId: number;
  range: MsRange;
  /** A user's first event in the range that matches is the anchor. Filters are without times. */
  anchor: EventFilter;
  /** The events that count as steps. */
  steps: EventFilter;
  direction: "after" | "before";
  /** Longest time between the anchor and a step. */
  windowMs: number;
  /** Steps of a path, without the anchor. */
  length: number;
  /** Whether events in a row with the same name are one step. */
  mergesRepeats: boolean;
};

/** `names`: how many names each step tells apart, those of most users; one more if that is all. */
export type PathsQuery = FollowPathsQuery & { names: number };

/** The users of a step, from 1 on, with the same event name. */
export type PathNode = {
  step: number;
  /** Null: all other names of the step. */
  name: string | null;
  /** How many different names these are. */
  names: number;
  users: number;
  /** Users without another step; null for the last one, which is followed no further. */
  ended: number | null;
};

/** Users who went from one node to another, by their indexes in `nodes`. */
type PathLink = { source: number; target: number; users: number };

export type Paths = {
  /** The anchor, of step 0, comes first; then each step's names, most users first, and its others. */
  nodes: PathNode[];
  links: PathLink[];
};

/** A node: the anchor (step 0), a name of a step, or a step's other names (null). */
export type PathPlace = { step: number; name: string | null };

/** Users who came to a node, only from another one if that is given. They count by the event of the node. */
export type CountedPathUsers = {
  of: "paths";
  paths: PathsQuery;
  source?: PathPlace | undefined;
  /** Null: they took no step after `source`, whose event counts. */
  target: PathPlace | null;
};
