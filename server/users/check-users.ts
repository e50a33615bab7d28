import type { Event } from "../event/event.ts";
import type { ArrivalStamp } from "../event/id.ts";
import { personsOf } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { type ActivityEntry, deleteEntries, insertEntries, unchangedOf } from "./activity-entries.ts";
import { exactCounts } from "./exact-users.ts";
import { repairTimes } from "./repair-times.ts";

/** Users compared in one step. */
const stepUsers = 50;
/** More new events than this are counted first. */
const uncountedMax = 1_000;
/** Attempts for users whose events arrive while these are counted. */
const attemptsMax = 5;

/**
 * Compares the entries of some users with their events, in one of the projects that wait for it: after an upgrade from a
 * version that didn't correct entries at once, and after a whole month was removed. Returns false if none waits.
 */
export async function checkUsers(store: Store): Promise<boolean> {
  const { control } = store;
  // The project that is least advanced, so that they take turns.
  const position = await control
    .selectFrom("userActivityPositions")
    .selectAll()
    .where("checkedTo", "is not", null)
    .orderBy("checkedTo")
    .limit(1)
    .executeTakeFirst();
  if (!position) return false;
  const { projectId } = position;
  const rows = await control
    .selectFrom("userActivity")
    .select(["projectId", "userId", "events", "firstAt", "lastAt", "stale"])
    .where("projectId", "=", projectId)
    .where("userId", ">", position.checkedTo!)
    .orderBy("userId")
    .limit(stepUsers)
    .execute();
  for (let attempt = 1; rows.length > 0; attempt++) {
    if ((await correct(store, position, rows)) || attempt === attemptsMax) break;
  }
  const checkedTo = rows.length < stepUsers ? null : rows.at(-1)!.userId;
  await control
    .updateTable("userActivityPositions")
    .set({ checkedTo })
    .where("projectId", "=", projectId)
    // If it was started again meanwhile, it begins again.
    .where("checkedTo", "=", position.checkedTo)
    .execute();
  return true;
}

/** Counts the events of some users again, right after what belongs to them changed. */
export async function recountUsers(
  store: Store,
  projectId: number,
  userIds: readonly string[],
): Promise<void> {
  const rowsOf = () =>
    store.control
      .selectFrom("userActivity")
      .select(["projectId", "userId", "events", "firstAt", "lastAt", "stale"])
      .where("projectId", "=", projectId)
      .where("userId", "in", userIds)
      .execute();
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const rows = await rowsOf();
    if (rows.length === 0) return;
    if (!(await correct(store, { projectId }, rows))) continue;
    await repairTimes(store, projectId);
    // Nothing else is to be compared, unless that was due before.
    await store.control
      .updateTable("userActivityPositions")
      .set({ checkedTo: null })
      .where("projectId", "=", projectId)
      .where("checkedTo", "=", "")
      .execute();
    return;
  }
}

type CheckedEntry = ActivityEntry & { stale: number };

/** Corrects entries that count too many or too few. Returns false if events arrived in between, so that it can't tell. */
async function correct(
  store: Store,
  { projectId }: { projectId: number },
  rows: readonly CheckedEntry[],
): Promise<boolean> {
  const position = await positionOf(store, projectId);
  const before = await uncounted(store, projectId, position);
  const userIds = rows.map(({ userId }) => userId);
  const exact = await exactCounts(store, projectId, userIds);
  const after = await uncounted(store, projectId, position);
  if (before === null || after === null) return false;
  const corrected: CheckedEntry[] = [];
  const gone: string[] = [];
  let isCertain = true;
  for (const row of rows) {
    const { userId } = row;
    const counted = (exact.get(userId) ?? 0) - (before.get(userId) ?? 0);
    if (counted === row.events) continue;
    if (before.get(userId) !== after.get(userId)) isCertain = false;
    else if (counted <= 0) gone.push(userId);
    else corrected.push({ ...row, events: counted });
  }
  if (corrected.length === 0 && gone.length === 0) return isCertain;
  const isDone = await store.together("user-activity", async (transaction) => {
    const unchanged = await unchangedOf(transaction, projectId, rows);
    const current = await transaction
      .selectFrom("userActivityPositions")
      .select(["ms", "sequence", "removals"])
      .where("projectId", "=", projectId)
      .executeTakeFirst();
    const isSame =
      current?.ms === position.ms &&
      current.sequence === position.sequence &&
      current.removals === position.removals &&
      rows.every(({ userId }) => unchanged.has(userId));
    if (!isSame) return false;
    if (corrected.length > 0)
      await insertEntries(store, transaction, corrected)
        .onConflict((conflict) =>
          conflict.columns(["projectId", "userId"]).doUpdateSet((eb) => ({
            events: eb.ref("excluded.events"),
            // The times are looked up, too.
            stale: eb("userActivity.stale", "+", 1),
          })),
        )
        .execute();
    await deleteEntries(transaction, projectId, gone);
    return true;
  });
  return isDone && isCertain;
}

async function positionOf({ control }: Store, projectId: number) {
  return control
    .selectFrom("userActivityPositions")
    .select(["ms", "sequence", "removals"])
    .where("projectId", "=", projectId)
    .executeTakeFirstOrThrow();
}

/** How many events of each person arrived after a position; null if there are too many to tell. */
async function uncounted(
  { events, control }: Store,
  projectId: number,
  position: ArrivalStamp,
): Promise<Map<string, number> | null> {
  const userIds: string[] = [];
  // A read can return fewer than there are.
  for (let after = position; ; ) {
    const arrived = await events.arrivedAfter(projectId, after, uncountedMax);
    if (arrived.length === 0) break;
    for (const { json } of arrived) userIds.push((JSON.parse(json) as Event).userId);
    if (userIds.length >= uncountedMax) return null;
    after = arrived.at(-1)!.arrival;
  }
  const persons = await personsOf(control, projectId, userIds);
  const counts = new Map<string, number>();
  for (const userId of userIds) {
    const person = persons.get(userId) ?? userId;
    counts.set(person, (counts.get(person) ?? 0) + 1);
  }
  return counts;
}
