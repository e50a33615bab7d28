import type { z } from "@hono/zod-openapi";
import { problem } from "../core/problems.ts";
import type { Event } from "../event/event.ts";
import type { Cursor, EventFilter } from "../event/filter.ts";
import { userHashText } from "../event/user-hash.ts";
import type { CountedGroup, CountedUserList } from "../schemas/counted-users.ts";
import type { CountedUser, CountedUsers } from "../storage/analysis/queries.ts";
import { groupIdsOf, peopleIn, savedGroups } from "../storage/group-rows.ts";
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
type CountedUsersPage = Pick<z.input<typeof CountedUserList>, "total" | "users" | "groups" | "nextCursor">;

/** A page of the users, or groups, that a number counts, each with the event that makes them count. */
export async function listCountedUsers(
  store: Store,
  { projectId, counted, limit, cursor }: Options,
): Promise<CountedUsersPage> {
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const found = await store.events.countedUsers({ projectId, counted, after, limit: limit + 1 }, {});
  const page = found.users.slice(0, limit);
  const type = perOf(counted);
  const counting = await eventsOf(store, projectId, { filter: filterOf(counted), type }, page);
  const { total } = found;
  const nextCursor = found.users.length > limit ? writeCursor(page.at(-1)!) : null;
  if (type !== undefined)
    return { total, users: [], groups: await groupsOf(store, projectId, type, counting), nextCursor };
  const persons = counting.map(({ id }) => id);
  const [counts, seen, profileOf] = await Promise.all([
    exactCounts(store, projectId, persons),
    activityOf(store, projectId, persons),
    readProfiles(store.control, projectId, persons),
  ]);
  return {
    total,
    users: counting.map(({ id, event }) => ({
      userId: id,
      events: counts.get(id) ?? 0,
      firstSeenAt: isoOf(seen.get(id)?.firstAt),
      lastSeenAt: isoOf(seen.get(id)?.lastAt),
      ...profileOf(id),
      event,
    })),
    nextCursor,
  };
}

async function groupsOf(
  { control }: Store,
  projectId: number,
  type: string,
  counting: readonly Counting[],
): Promise<CountedGroup[]> {
  const ids = counting.map(({ id }) => id);
  const [saved, people] = await Promise.all([
    savedGroups(control, projectId, type, ids),
    peopleIn(control, projectId, type, ids),
  ]);
  return counting.map(({ id, event }) => ({
    ...{ type, id, event, properties: saved.get(id)?.properties ?? {}, people: people.get(id) ?? 0 },
    createdAt: isoOf(saved.get(id)?.createdAt),
  }));
}

/** The type of the groups that are counted; undefined: users are. */
function perOf(counted: CountedUsers): string | undefined {
  switch (counted.of) {
    case "events":
      return counted.per;
    case "funnel":
      return counted.funnel.per;
    case "cohort":
      return counted.retention.per;
    case "activity":
      return counted.activity.per;
    case "paths":
      return undefined;
  }
}

/** The condition that each user's event matches. */
function filterOf(counted: CountedUsers): EventFilter {
  if (counted.of === "events") return counted.filter;
  if (counted.of === "funnel") return counted.funnel.steps[counted.step - 1]!;
  if (counted.of === "activity") return counted.activity.filter;
  if (counted.of === "paths") return filterOfPathUsers(counted);
  return counted.period === null ? counted.retention.start : counted.retention.return;
}

/** A person, by the main ID, or a group, and the event because of which they count. */
type Counting = { id: string; event: Event };

/** The events of users or groups, in their order. Those whose event was removed meanwhile are left out. */
async function eventsOf(
  { events, control }: Store,
  projectId: number,
  { filter, type }: { filter: EventFilter; type: string | undefined },
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
      const idsOf = await (type === undefined ? personsBy(read) : groupsBy(read, type));
      for (const event of read)
        for (const id of idsOf(event)) {
          const hash = userHashText(id);
          if (missing.delete(hash)) found.set(hash, { id, event });
        }
      after = page.next;
    }
  }

  async function personsBy(read: readonly Event[]): Promise<(event: Event) => string[]> {
    const userIds = read.map(({ userId }) => userId);
    const persons = await personsOf(control, projectId, userIds);
    return ({ userId }) => (userId === "" ? [] : [persons.get(userId) ?? userId]);
  }

  /** The groups that an event belongs to: the one that it names, or else those of its person. */
  async function groupsBy(read: readonly Event[], type: string): Promise<(event: Event) => string[]> {
    const unnamed = read.filter(({ userId, tags }) => userId !== "" && !Object.hasOwn(tags, type));
    const ofUsers = await groupIdsOf(control, projectId, type, [
      ...new Set(unnamed.map(({ userId }) => userId)),
    ]);
    return ({ userId, tags }) => (Object.hasOwn(tags, type) ? [tags[type]!] : (ofUsers.get(userId) ?? []));
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
