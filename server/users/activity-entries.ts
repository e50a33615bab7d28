import type { Transaction } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { personsOf } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";

type Control = Transaction<ControlTables>;

/** A user's sort keys in the list of users: the number of events, and the `createdAt` of the first and last. */
export type ActivityEntry = {
  projectId: number;
  userId: string;
  events: number;
  firstAt: number;
  lastAt: number;
};

/** Adds entries; the caller says what happens to those that exist. */
export function insertEntries(
  { rowsOf }: Pick<Store, "rowsOf">,
  transaction: Control,
  entries: ActivityEntry[],
) {
  return transaction
    .insertInto("userActivity")
    .columns(["projectId", "userId", "events", "firstAt", "lastAt"])
    .expression(rowsOf("userActivity", ["projectId", "userId", "events", "firstAt", "lastAt"], entries));
}

/** Deletes the entries of some users. */
export async function deleteEntries(
  transaction: Control,
  projectId: number,
  userIds: readonly string[],
): Promise<void> {
  if (userIds.length === 0) return;
  await transaction
    .deleteFrom("userActivity")
    .where("projectId", "=", projectId)
    .where("userId", "in", userIds)
    .execute();
}

/**
 * The users whose entry is as it was, for a transaction that corrects entries. Until it ends, nothing else changes the
 * project's entries.
 */
export async function unchangedOf(
  transaction: Control,
  projectId: number,
  rows: readonly { userId: string; events: number; stale: number }[],
): Promise<Set<string>> {
  await transaction
    .updateTable("userActivityPositions")
    .set((eb) => ({ changes: eb("changes", "+", 1) }))
    .where("projectId", "=", projectId)
    .execute();
  const current = await transaction
    .selectFrom("userActivity")
    .select(["userId", "events", "stale"])
    .where("projectId", "=", projectId)
    .where(
      "userId",
      "in",
      rows.map(({ userId }) => userId),
    )
    .execute();
  const before = new Map(rows.map((row) => [row.userId, row]));
  return new Set(
    current.flatMap(({ userId, events, stale }) => {
      const row = before.get(userId)!;
      return row.events === events && row.stale === stale ? [userId] : [];
    }),
  );
}

/** Entries by people, of entries by the IDs of events. */
export async function entriesOfPeople(
  transaction: Control,
  entries: readonly ActivityEntry[],
): Promise<ActivityEntry[]> {
  const added: ActivityEntry[] = [];
  for (const [projectId, some] of Map.groupBy(entries, (entry) => entry.projectId)) {
    const userIds = some.map(({ userId }) => userId);
    const persons = await personsOf(transaction, projectId, userIds);
    const ofPeople = Map.groupBy(some, ({ userId }) => persons.get(userId) ?? userId);
    for (const [userId, own] of ofPeople)
      added.push({
        projectId,
        userId,
        events: own.reduce((sum, { events }) => sum + events, 0),
        firstAt: Math.min(...own.map(({ firstAt }) => firstAt)),
        lastAt: Math.max(...own.map(({ lastAt }) => lastAt)),
      });
  }
  return added;
}
