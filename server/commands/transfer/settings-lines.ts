import { limits } from "../../core/limits.ts";
import type { Annotation } from "../../schemas/annotation.ts";
import type { Board, BoardSummary } from "../../schemas/board.ts";
import type { Channel } from "../../schemas/channel.ts";
import type { Cohort } from "../../schemas/cohort.ts";
import type { GroupInList, GroupTypeList } from "../../schemas/group.ts";
import { pathSegment } from "../../schemas/path-segment.ts";
import type { Rule } from "../../schemas/rule.ts";
import type { UserInList } from "../../schemas/user.ts";
import type { Source } from "../source.ts";

type Fields = Record<string, unknown>;

/** People of a group in one line. */
const membersOfLine = 1_000;

/** The project's channels, cohorts, boards, annotations and rules, and its users and groups: an object for each line. */
export async function* settingsLines(source: Source): AsyncGenerator<Fields> {
  const { channels } = await source.json<{ channels: Channel[] }>("/api/channels");
  const byName = channels.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const { name, icon, description, retentionDays, firstTags, archivedAt } of byName)
    yield {
      ...{ type: "channel", name, icon, description, retentionDays },
      ...(firstTags.length > 0 && { firstTags }),
      archived: archivedAt !== null,
    };

  // Before what names them.
  const { cohorts } = await source.json<{ cohorts: Cohort[] }>("/api/cohorts");
  for (const { name, match, conditions } of cohorts)
    yield { type: "cohort", name, match, conditions: conditions.map(inOrder) };

  const { boards } = await source.json<{ boards: BoardSummary[] }>("/api/boards");
  for (const { id } of boards) {
    const { name, tiles } = (await source.json<{ board: Board }>(`/api/boards/${id}`)).board;
    yield { type: "board", name, tiles: tiles.map(inOrder) };
  }

  const boardNames = new Map(boards.map(({ id, name }) => [id, name]));
  const annotations: Fields[] = [];
  for await (const annotation of annotationsOf(source)) annotations.push(lineOf(annotation, boardNames));
  // Not in the order of their creation, which an import changes.
  yield* annotations.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

  const { rules } = await source.json<{ rules: Rule[] }>("/api/rules");
  // Members and destinations are those of this installation.
  for (const { name, q, when, to, urgent, enabled } of rules)
    yield { type: "rule", name, q, when: inOrder(when), urgent, enabled, everyone: to.everyone };

  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = new URLSearchParams({ has: "properties", limit: "1000", ...(cursor && { cursor }) });
    const page: { users: UserInList[]; nextCursor: string | null } = await source.json(`/api/users?${query}`);
    for (const { userId, ids, isKnown, properties } of page.users)
      yield {
        ...{ type: "user", userId, properties },
        ...(isKnown && { known: true }),
        ...(ids.length > 1 && { ids: ids.slice(1) }),
      };
    cursor = page.nextCursor;
  }

  const { types } = await source.json<GroupTypeList>("/api/group-types");
  for (const { type } of types.toSorted((a, b) => (a.type < b.type ? -1 : 1)))
    yield* groupLines(source, type);
}

/** Groups of a type, by ID. A group with more people than a page has takes several lines. */
async function* groupLines(source: Source, type: string): AsyncGenerator<Fields> {
  for await (const { id, properties } of pagesOf<GroupInList>(
    source,
    "groups",
    `/api/groups?${new URLSearchParams({ type, limit: String(limits.listedGroups) })}`,
  )) {
    const path = `/api/groups/${pathSegment(type)}/${pathSegment(id)}/members?limit=${membersOfLine}`;
    const line = { type: "group", groupType: type, id };
    let members: string[] = [];
    let isFirst = true;
    for await (const { userId } of pagesOf<UserInList>(source, "users", path)) {
      members.push(userId);
      if (members.length < membersOfLine) continue;
      yield { ...line, ...(isFirst && { properties }), members };
      isFirst = false;
      members = [];
    }
    if (isFirst || members.length > 0) yield { ...line, ...(isFirst && { properties }), members };
  }
}

/** All items of a list that has pages. */
async function* pagesOf<Item>(source: Source, name: string, path: string): AsyncGenerator<Item> {
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Record<string, unknown> = await source.json(cursor ? `${path}&cursor=${cursor}` : path);
    yield* page[name] as Item[];
    cursor = page.nextCursor as string | null;
  }
}

/** The same fields in one order, whatever the database keeps, so that equal projects have equal exports. */
function inOrder(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** All annotations of the project. */
export async function* annotationsOf(source: Source): AsyncGenerator<Annotation> {
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = new URLSearchParams({ limit: String(limits.pageItems), ...(cursor && { cursor }) });
    const page: { annotations: Annotation[]; nextCursor: string | null } = await source.json(
      `/api/annotations?${query}`,
    );
    yield* page.annotations;
    cursor = page.nextCursor;
  }
}

/** A line's `type` says that it is an annotation, so that of the annotation is `of`. Boards have names in a file. */
function lineOf(annotation: Annotation, boardNames: ReadonlyMap<string, string>): Fields {
  const { type, name, icon, color } = annotation;
  const shared = { type: "annotation", of: type, name, icon, color };
  if (annotation.type === "events") return { ...shared, q: annotation.q, enabled: annotation.enabled };
  const { at, board } = annotation;
  return { ...shared, at, board: board === null ? null : (boardNames.get(board) ?? null) };
}
