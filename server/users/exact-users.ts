import type { Event } from "../event/event.ts";
import type { Store } from "../storage/store.ts";

/** How many events each of some users has. Users without events are missing. */
export async function exactCounts(
  { events }: Store,
  projectId: number,
  userIds: readonly string[],
): Promise<Map<string, number>> {
  if (userIds.length === 0) return new Map();
  const users = await events.users({ projectId, userIds }, userIds.length);
  return new Map(users.map(({ userId, events }) => [userId, events]));
}

/** The `createdAt` of a user's first and last event; null without events. */
export async function seenAt(
  { events }: Store,
  projectId: number,
  userId: string,
): Promise<{ first: string; last: string } | null> {
  const [first, last] = await Promise.all(
    (["asc", "desc"] as const).map(async (order) => {
      const [json] = (await events.page({ projectId, filter: { userId }, order }, 1)).events;
      return json === undefined ? null : (JSON.parse(json) as Event).createdAt;
    }),
  );
  return first && last ? { first, last } : null;
}

type Timed = { userId: string; firstAt: number; lastAt: number; stale: number };

/** Rows of a list, with the right times of users whose first or last event was just removed. */
export function withTimes<Row extends Timed>(
  store: Store,
  projectId: number,
  rows: readonly Row[],
): Promise<Row[]> {
  return Promise.all(
    rows.map(async (row) => {
      const seen = row.stale > 0 ? await seenAt(store, projectId, row.userId) : null;
      return seen ? { ...row, firstAt: Date.parse(seen.first), lastAt: Date.parse(seen.last) } : row;
    }),
  );
}
