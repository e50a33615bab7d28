import type { Board, BoardSummary } from "../../wire/board.ts";
import type { Channel } from "../../wire/channel.ts";
import type { Rule } from "../../wire/rule.ts";
import type { UserInList } from "../../wire/user.ts";
import type { Source } from "../source.ts";

/** Lines of an export that are no events, in the order in which they are imported. */
export const settingKinds = ["channel", "board", "rule"] as const;
export type SettingKind = (typeof settingKinds)[number];
type Fields = Record<string, unknown>;
export type Setting = { kind: SettingKind; fields: Fields };

/** The project's channels, boards and rules, and the properties of its users: an object for each line. */
export async function* settingsLines(source: Source): AsyncGenerator<Fields> {
  const { channels } = await source.json<{ channels: Channel[] }>("/api/channels");
  const byName = channels.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const { name, icon, description, retentionDays, archivedAt } of byName)
    yield { type: "channel", name, icon, description, retentionDays, archived: archivedAt !== null };

  const { boards } = await source.json<{ boards: BoardSummary[] }>("/api/boards");
  for (const { id } of boards) {
    const { name, tiles } = (await source.json<{ board: Board }>(`/api/boards/${id}`)).board;
    yield { type: "board", name, tiles };
  }

  const { rules } = await source.json<{ rules: Rule[] }>("/api/rules");
  // Members and destinations are those of this installation.
  for (const { name, q, when, to, urgent, enabled } of rules)
    yield { type: "rule", name, q, when, urgent, enabled, everyone: to.everyone };

  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = new URLSearchParams({ has: "properties", limit: "1000", ...(cursor && { cursor }) });
    const page: { users: UserInList[]; nextCursor: string | null } = await source.json(`/api/users?${query}`);
    for (const { userId, properties } of page.users) yield { type: "user", userId, properties };
    cursor = page.nextCursor;
  }
}

/** Creates what a project lacks. Channels get their settings; a board or rule that has the name of another is skipped. */
export class SettingsImport {
  readonly #source: Source;
  readonly #names = new Map<SettingKind, Set<string>>();

  constructor(source: Source) {
    this.#source = source;
  }

  /** Throws an AnswerError if the server rejects it. */
  async add({ kind, fields }: Setting): Promise<void> {
    const name = String(fields.name);
    const names = this.#names.get(kind) ?? (await this.#existing(kind));
    this.#names.set(kind, names);
    if (!names.has(name)) await this.#send("POST", `/api/${kind}s`, newOf[kind](fields));
    names.add(name);
    if (kind !== "channel") return;
    const { icon = null, description = null, retentionDays = null, archived = false } = fields;
    const change = { icon, description, retentionDays, archived };
    await this.#send("PATCH", `/api/channels/${encodeURIComponent(name)}`, change);
  }

  async #existing(kind: SettingKind): Promise<Set<string>> {
    const list = await this.#source.json<Record<string, { name: string }[]>>(`/api/${kind}s`);
    return new Set(list[`${kind}s`]!.map(({ name }) => name));
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
