import type { z } from "@hono/zod-openapi";
import { problem } from "../core/problems.ts";
import type { Event } from "../event/event.ts";
import type { Cursor, EventFilter } from "../event/filter.ts";
import type { CountedUserList } from "../schemas/counted-users.ts";
import { userHashText } from "../storage/analysis/numbered.ts";
import type { CountedUser, CountedUsers } from "../storage/analysis/queries.ts";
import type { Store } from "../storage/store.ts";
import { exactCounts } from "../users/exact-users.ts";
import { activityOf, isoOf, propertiesOf } from "../users/list-users.ts";
import { filterOfPathUsers } from "./paths.ts";

/** Events of one millisecond that are read at a time, to find a user's. */
const pageEvents = 100;
/** Milliseconds that are looked up at the same time. */
const lookups = 4;

type Options = { projectId: number; counted: CountedUsers; limit: number; cursor: string | undefined };
type CountedUsersPage = Pick<z.input<typeof CountedUserList>, "total" | "users" | "nextCursor">;

/** A page of the users whom a number counts, each with the event that makes them count. */
export async function listCountedUsers(
  store: Store,
  { projectId, counted, limit, cursor }: Options,
): Promise<CountedUsersPage> {
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const found = await store.events.countedUsers({ projectId, counted, after, limit: limit + 1 }, {});
  const page = found.users.slice(0, limit);
  const events = await eventsOf(store, projectId, filterOf(counted), page);
  const userIds = events.map(({ userId }) => userId);
  const [counts, seen, properties] = await Promise.all([
    exactCounts(store, projectId, userIds),
    activityOf(store, projectId, userIds),
    propertiesOf(store.control, projectId, userIds),
  ]);
  return {
    total: found.total,
    users: events.map((event) => ({
      userId: event.userId,
      events: counts.get(event.userId) ?? 0,
      firstSeenAt: isoOf(seen.get(event.userId)?.firstAt),
      lastSeenAt: isoOf(seen.get(event.userId)?.lastAt),
      properties: properties.get(event.userId) ?? {},
      event,
    })),
    nextCursor: found.users.length > limit ? writeCursor(page.at(-1)!) : null,
  };
}

/** The condition that each user's event matches. */
function filterOf(counted: CountedUsers): EventFilter {
  if (counted.of === "events") return counted.filter;
  if (counted.of === "funnel") return counted.funnel.steps[counted.step - 1]!;
  if (counted.of === "activity") return counted.activity.filter;
  if (counted.of === "paths") return filterOfPathUsers(counted);
  return counted.period === null ? counted.retention.start : counted.retention.return;
}

/** The events of users, in the users' order. Those that were removed meanwhile are left out. */
async function eventsOf(
  { events }: Store,
  projectId: number,
  filter: EventFilter,
  users: readonly CountedUser[],
): Promise<Event[]> {
  const found = new Map<string, Event>();
  const byTime = [...Map.groupBy(users, ({ ms }) => ms)];
  for (let at = 0; at < byTime.length; at += lookups)
    await Promise.all(byTime.slice(at, at + lookups).map(([ms, some]) => findAt(ms, some)));
  return users.flatMap(({ hash }) => found.get(hash) ?? []);

  async function findAt(ms: number, some: readonly CountedUser[]): Promise<void> {
    const missing = new Set(some.map(({ hash }) => hash));
    const within = { ...filter, fromMs: ms, toMs: ms + 1 };
    for (let after: Cursor | null | undefined; after !== null && missing.size > 0; ) {
      const query = { projectId, filter: within, order: "asc" as const, ...(after && { after }) };
      const page = await events.page(query, pageEvents);
      for (const json of page.events) {
        const event = JSON.parse(json) as Event;
        const hash = userHashText(event.userId);
        if (event.userId !== "" && missing.delete(hash)) found.set(hash, event);
      }
      after = page.next;
    }
  }
}

function writeCursor({ ms, hash }: CountedUser): string {
  return `${ms}.${hash}`;
}

/** Throws `query-invalid`. */
function readCursor(text: string): CountedUser {
  const [, ms, hash] = /^(\d{1,15})\.([0-9a-f]{24})$/.exec(text) ?? [];
  if (hash === undefined)
    throw problem("query-invalid", { detail: '"cursor" must be the "nextCursor" of an earlier page.' });
  return { ms: Number(ms), hash };
}
