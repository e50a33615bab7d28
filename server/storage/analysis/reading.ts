import type { EventFilter } from "../../event/filter.ts";
import { Batches, type Fields } from "./batch.ts";
import type { Counting } from "./counting.ts";
import { scanPerGroup } from "./group-actors.ts";
import { type GroupScan, scanForGroups } from "./group-split.ts";
import { Users } from "./numbered.ts";
import { scanFor } from "./property-split.ts";
import type { AnalysisSplit } from "./queries.ts";
import type { Scan, Sources } from "./scan.ts";

/** How an analysis reads events: whom it counts, and the values that it is split by. */
export type Reading = {
  /** Who is counted: people, or groups by their IDs. These are the users of the scan's batches. */
  counted: Users;
  fields: Fields;
  scan: Scan;
  batches: (filters: readonly EventFilter[]) => Batches;
  /** The values that a value with `severalBit` stands for. */
  valuesOf: GroupScan["valuesOf"];
};

type Wanted = Counting & {
  projectId: number;
  split?: AnalysisSplit | undefined;
  /** The only value that a split by a property looks at. */
  only?: string | undefined;
  /** Whether users are read; they are if anything needs them. */
  users: boolean;
  number?: string | undefined;
};

/** @param tooMany - what the analysis may have too many of */
export async function openReading(
  sources: Sources,
  { projectId, per, split, only, users, number }: Wanted,
  tooMany?: "users" | "followedUsers",
): Promise<Reading> {
  const ofGroups = split?.by === "group" ? split : undefined;
  const other = split?.by === "group" ? undefined : split;
  const needsUsers = users || per !== undefined || ofGroups !== undefined || split?.by === "user";
  const people = new Users(needsUsers ? await sources.readPeople(projectId) : null, tooMany);
  const { scan, ofEvents } = scanFor(sources, other, only);
  const fields = { users: needsUsers, split: ofEvents, number, groups: per ?? ofGroups?.type };
  const batches = (filters: readonly EventFilter[]) => new Batches(fields, filters, people);
  if (per !== undefined) {
    const counted = new Users(null, tooMany);
    const perGroup = scanPerGroup({ ...sources, scan }, { projectId, per, split }, counted);
    return { counted, fields, scan: perGroup, batches, valuesOf: () => [] };
  }
  if (ofGroups) return { counted: people, fields, batches, ...scanForGroups({ ...sources, scan }, ofGroups) };
  return { counted: people, fields, scan, batches, valuesOf: () => [] };
}
