import { cellOf } from "../event/event-format.ts";
import type { UserInList } from "../schemas/user.ts";
import type { Store } from "../storage/store.ts";
import { exactCounts } from "../users/exact-users.ts";
import { activityOf, isoOf } from "../users/list-users.ts";
import { readProfiles } from "../users/profiles.ts";
import { cursorOfText, textOfCursor } from "../validation/page-query.ts";

/** People that an export reads at a time. */
const exportedPeople = 500;

type Page = { users: UserInList[]; nextCursor: string | null };

/** A page of a cohort's people, by their main IDs. */
export async function listMembers(
  store: Store,
  { id, projectId }: { id: string; projectId: number },
  { limit, after }: { limit: number; after: string },
): Promise<Page> {
  const rows = await store.control
    .selectFrom("cohortMembers")
    .select("userId")
    .where("cohortId", "=", id)
    .whereRef("userId", "=", "personId")
    .where("userId", ">", after)
    .orderBy("userId")
    .limit(limit + 1)
    .execute();
  const persons = rows.slice(0, limit).map(({ userId }) => userId);
  const [counts, seen, profileOf] = await Promise.all([
    exactCounts(store, projectId, persons),
    activityOf(store, projectId, persons),
    readProfiles(store.control, projectId, persons),
  ]);
  return {
    users: persons.map((userId) => ({
      userId,
      events: counts.get(userId) ?? 0,
      firstSeenAt: isoOf(seen.get(userId)?.firstAt),
      lastSeenAt: isoOf(seen.get(userId)?.lastAt),
      ...profileOf(userId),
    })),
    nextCursor: rows.length > limit ? cursorOfText(persons.at(-1)!) : null,
  };
}

/** All people of a cohort, in texts of some lines. They are read as the client takes them. */
export async function* exportMembers(
  store: Store,
  cohort: { id: string; projectId: number },
  format: "ndjson" | "csv",
): AsyncGenerator<string> {
  if (format === "csv") yield "userId,events,firstSeenAt,lastSeenAt,ids,properties\r\n";
  for (let after: string | null = ""; after !== null; ) {
    const page: Page = await listMembers(store, cohort, { limit: exportedPeople, after });
    if (page.users.length > 0)
      yield page.users.map((user) => (format === "csv" ? rowOf(user) : `${JSON.stringify(user)}\n`)).join("");
    after = page.nextCursor === null ? null : textOfCursor(page.nextCursor);
  }
}

function rowOf({ userId, events, firstSeenAt, lastSeenAt, ids, properties }: UserInList): string {
  const cells = [
    cellOf(userId),
    String(events),
    firstSeenAt ?? "",
    lastSeenAt ?? "",
    cellOf(JSON.stringify(ids)),
    cellOf(JSON.stringify(properties)),
  ];
  return `${cells.join(",")}\r\n`;
}
