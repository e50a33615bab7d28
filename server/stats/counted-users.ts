import type { z } from "@hono/zod-openapi";
import { problem } from "../core/problems.ts";
import type { Event } from "../event/event.ts";
import type { Cursor, EventFilter } from "../event/filter.ts";
import { userHashText } from "../event/user-hash.ts";
import type { CountedUserList } from "../schemas/counted-users.ts";
import type { CountedUser, CountedUsers } from "../storage/analysis/queries.ts";
import { personsOf } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { exactCounts } from "../users/exact-users.ts";
import { activityOf, isoOf } from "../users/list-users.ts";
import { readProfiles } from "../users/profiles.ts";
import { filterOfPathUsers } from "./paths.ts";

/** Events of one millisecond that are read at a time, to find a user's. */
const pageEvents = 100;
/** Milliseconds that are looked up at the same time. */
const lookups = 4;

/** How each list of users is described. */
export const listNote =
  "Those with the newest event come first, each with the event that makes them count. To page through the same users, send `from` and `to`.";

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
  const counting = await eventsOf(store, projectId, filterOf(counted), page);
  const persons = counting.map(({ person }) => person);
  const [counts, seen, profileOf] = await Promise.all([
    exactCounts(store, projectId, persons),
    activityOf(store, projectId, persons),
    readProfiles(store.control, projectId, persons),
  ]);
  return {
    total: found.total,
    users: counting.map(({ person, event }) => ({
      userId: person,
      events: counts.get(person) ?? 0,
      firstSeenAt: isoOf(seen.get(person)?.firstAt),
      lastSeenAt: isoOf(seen.get(person)?.lastAt),
      ...profileOf(person),
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

/** A person, by the main ID, and the event because of which they count. */
type Counting = { person: string; event: Event };

/** The events of users, in the users' order. Those that were removed meanwhile are left out. */
async function eventsOf(
  { events, control }: Store,
  projectId: number,
  filter: EventFilter,
  users: readonly CountedUser[],
): Promise<Counting[]> {
  const found = new Map<string, Counting>();
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
      const read = page.events.map((json) => JSON.parse(json) as Event);
      const persons = await personsOf(
        control,
        projectId,
        read.map(({ userId }) => userId),
      );
      for (const event of read) {
        const person = persons.get(event.userId) ?? event.userId;
        const hash = userHashText(person);
        if (person !== "" && missing.delete(hash)) found.set(hash, { person, event });
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
