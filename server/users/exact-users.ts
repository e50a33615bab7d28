import type { Event } from "../event/event.ts";
import { joinedIdsOf } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";

/** How many events each of some people has, by their main IDs. Those without events are missing. */
export async function exactCounts(
  { events, control }: Pick<Store, "events" | "control">,
  projectId: number,
  persons: readonly string[],
): Promise<Map<string, number>> {
  if (persons.length === 0) return new Map();
  const idsOfEach = await joinedIdsOf(control, projectId, persons);
  const personOfId = new Map([...idsOfEach].flatMap(([person, ids]) => ids.map((id) => [id, person])));
  const userIds = [...personOfId.keys()];
  const users = await events.users({ projectId, userIds }, userIds.length);
  const counts = new Map<string, number>();
  for (const { userId, events } of users) {
    const person = personOfId.get(userId)!;
    counts.set(person, (counts.get(person) ?? 0) + events);
  }
  return counts;
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
