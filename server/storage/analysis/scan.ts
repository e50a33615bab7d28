import type { EventFilter } from "../../event/filter.ts";
import type { MsRange } from "../block.ts";
import type { Aggregates } from "./aggregates.ts";
import type { Batch, Batches, Fields } from "./batch.ts";
import type { ReadPeople } from "./person-hashes.ts";
import type { Watch } from "./queries.ts";

/** Which events an analysis reads: those that match any of the filters, which have no times of their own. */
export type ScanQuery = {
  projectId: number;
  filters: readonly EventFilter[];
  range: MsRange;
  fields: Fields;
  /**
   * The start of each bucket, and the end of the last. Events of a bucket that differ in nothing that is read can then be
   * passed on as one.
   */
  bounds?: readonly number[] | undefined;
  /** With bounds: what is made of the numbers of a bucket's events, so that these can be passed on as one. */
  combine?: Combine | undefined;
};

export type Combine = "sum" | "minimum" | "maximum";

/**
 * Reads the events of a query in the order of time, and yields to other work in between. Waits for `take`, which may
 * yield, too. Throws `TooLargeError`.
 */
export type Scan = (
  query: ScanQuery,
  batches: Batches,
  take: (batch: Batch) => void | Promise<void>,
  watch: Watch,
) => Promise<void>;

/** Passes on the users of a project who have a property, with its value as a text. */
export type ReadProperty = (
  projectId: number,
  key: string,
  take: (userId: string, value: string) => void,
  watch: Watch,
) => Promise<void>;

/** Reads groups of a type, such as companies. */
export type ReadGroups = {
  /** Passes on the members of all groups, by the IDs that were named: group by group. */
  members: (
    of: { projectId: number; type: string },
    take: (groupId: string, userId: string) => void,
    watch: Watch,
  ) => Promise<void>;
  /** Passes on the groups that have a property, with its value as a text. */
  property: (
    of: { projectId: number; type: string; key: string },
    take: (groupId: string, value: string) => void,
    watch: Watch,
  ) => Promise<void>;
};

/** What an analysis reads from: events, who their users are, properties of users, and groups. */
export type Sources = {
  scan: Scan;
  readPeople: ReadPeople;
  readProperty: ReadProperty;
  readGroups: ReadGroups;
  /** Of an engine that can count by itself. */
  aggregates?: Aggregates | null;
};
