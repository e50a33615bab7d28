import type { Selectable } from "kysely";
import { isoOf } from "../core/iso.ts";
import { Turns } from "../scheduling/turns.ts";
import type { GroupInList, GroupList } from "../schemas/group.ts";
import type { UserProperties } from "../schemas/user-rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { peopleIn } from "../storage/group-rows.ts";
import type { Store } from "../storage/store.ts";
import { matchesUser, parseUserSearch } from "../users/user-search.ts";
import { cursorOfText } from "../validation/page-query.ts";
import { activityOf } from "./groups.ts";

type Listed = Pick<Selectable<ControlTables["userGroups"]>, "groupId" | "properties" | "createdAt">;

export type GroupQuery = {
  projectId: number;
  type: string;
  q: string;
  limit: number;
  /** The ID after which the page begins. */
  after: string;
  signal: AbortSignal;
};

/** Groups that one statement reads. */
const stepRows = 1_000;

/** A page of groups of a type, by their IDs, with their people and events. */
export async function listGroups(store: Store, query: GroupQuery): Promise<Omit<GroupList, "ok">> {
  const { projectId, type, limit } = query;
  const found = await matchingGroups(store, query);
  const page = found.slice(0, limit);
  const ids = page.map(({ groupId }) => groupId);
  const [people, activities] = await Promise.all([
    peopleIn(store.control, projectId, type, ids),
    Promise.all(ids.map((id) => activityOf(store, projectId, { type, id }))),
  ]);
  return {
    groups: page.map(
      ({ groupId, properties, createdAt }, index): GroupInList => ({
        type,
        id: groupId,
        properties: JSON.parse(properties) as UserProperties,
        people: people.get(groupId) ?? 0,
        ...activities[index]!,
        createdAt: isoOf(createdAt),
      }),
    ),
    nextCursor: found.length > limit ? cursorOfText(ids.at(-1)!) : null,
  };
}

/** The next groups that match, one more than the page has if there are more. No index covers a search. */
async function matchingGroups(
  { control }: Store,
  { projectId, type, q, limit, after, signal }: GroupQuery,
): Promise<Listed[]> {
  const search = parseUserSearch(q);
  const found: Listed[] = [];
  const turns = new Turns(projectId);
  for (let last = after; ; ) {
    const rows = await control
      .selectFrom("userGroups")
      .select(["groupId", "properties", "createdAt"])
      .where("projectId", "=", projectId)
      .where("type", "=", type)
      .where("groupId", ">", last)
      .orderBy("groupId")
      .limit(search.length === 0 ? limit + 1 : stepRows)
      .execute();
    for (const row of rows) {
      if (!matchesUser(search, [row.groupId], JSON.parse(row.properties) as UserProperties)) continue;
      if (found.push(row) > limit) return found;
    }
    if (search.length === 0 || rows.length < stepRows) return found;
    last = rows.at(-1)!.groupId;
    await turns.next();
    signal.throwIfAborted();
  }
}
