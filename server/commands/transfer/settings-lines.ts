import type { Board, BoardSummary } from "../../schemas/board.ts";
import type { Channel } from "../../schemas/channel.ts";
import { pathSegment } from "../../schemas/path-segment.ts";
import type { Rule } from "../../schemas/rule.ts";
import type { UserInList } from "../../schemas/user.ts";
import type { Setting, SettingKind } from "../../transfer/formats.ts";
import type { Source } from "../source.ts";

type Fields = Record<string, unknown>;

/** The project's channels, boards and rules, and the properties of its users: an object for each line. */
export async function* settingsLines(source: Source): AsyncGenerator<Fields> {
  const { channels } = await source.json<{ channels: Channel[] }>("/api/channels");
  const byName = channels.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const { name, icon, description, retentionDays, firstTags, archivedAt } of byName)
    yield {
      ...{ type: "channel", name, icon, description, retentionDays },
      ...(firstTags.length > 0 && { firstTags }),
      archived: archivedAt !== null,
    };

  const { boards } = await source.json<{ boards: BoardSummary[] }>("/api/boards");
  for (const { id } of boards) {
    const { name, tiles } = (await source.json<{ board: Board }>(`/api/boards/${id}`)).board;
    yield { type: "board", name, tiles: tiles.map(inOrder) };
  }

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
}

/** The same fields in one order, whatever the database keeps, so that equal projects have equal exports. */
function inOrder(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

type Existing = { id: string; name: string };

/** Creates channels, boards and rules, and changes those that have the same name. */
export class SettingsImport {
  readonly #source: Source;
  readonly #existing = new Map<SettingKind, Map<string, Existing>>();

  constructor(source: Source) {
    this.#source = source;
  }

  /** Throws an AnswerError if the server rejects it. */
  async add({ kind, fields }: Setting): Promise<void> {
    const name = String(fields.name);
    const ofKind = this.#existing.get(kind) ?? (await this.#list(kind));
    this.#existing.set(kind, ofKind);
    const existing = ofKind.get(name);
    if (!existing) await this.#send("POST", `/api/${kind}s`, newOf[kind](fields));
    // A channel is created without its settings.
    if (existing || kind === "channel") {
      const id = existing?.id ?? name;
      await this.#send("PATCH", `/api/${kind}s/${pathSegment(id)}`, changeOf[kind](fields));
    }
    if (kind === "channel") ofKind.set(name, { id: name, name });
    // A new board or rule has an ID.
    else this.#existing.delete(kind);
  }

  async #list(kind: SettingKind): Promise<Map<string, Existing>> {
    const list = await this.#source.json<Record<string, Existing[]>>(`/api/${kind}s`);
    return new Map(list[`${kind}s`]!.map((each) => [each.name, each]));
  }

  async #send(method: "POST" | "PATCH", path: string, body: Fields): Promise<void> {
    await this.#source.request(path, { method, body: JSON.stringify(body) });
  }
}

/** What creates each kind. */
const newOf: Record<SettingKind, (fields: Fields) => Fields> = {
  channel: ({ name }) => ({ name }),
  board: ({ name, tiles }) => ({ name, tiles }),
  // One for chosen people or destinations is turned off, until somebody chooses them here.
  rule: ({ name, q, when, urgent, enabled, everyone }) => ({
    name,
    q,
    when,
    urgent,
    to: { everyone: true, members: [], destinations: [] },
    enabled: enabled === true && everyone === true,
  }),
};

/** What changes each kind. The recipients of a rule stay. */
const changeOf: Record<SettingKind, (fields: Fields) => Fields> = {
  channel: ({ icon = null, description = null, retentionDays = null, firstTags = [], archived = false }) => ({
    icon,
    description,
    retentionDays,
    firstTags,
    archived,
  }),
  board: ({ tiles }) => ({ tiles }),
  rule: ({ q, when, urgent, enabled, everyone }) => ({
    q,
    when,
    urgent,
    ...(everyone === true && { enabled }),
  }),
};
