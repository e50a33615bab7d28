import type { Annotation } from "../../schemas/annotation.ts";
import { pathSegment } from "../../schemas/path-segment.ts";
import type { Setting, SettingKind } from "../../transfer/formats.ts";
import { AnswerError, type Source } from "../source.ts";
import { annotationsOf } from "./settings-lines.ts";

type Fields = Record<string, unknown>;
type Existing = { id: string } & Fields;

/** Creates channels, cohorts, boards, annotations and rules, and changes those that are there already. */
export class SettingsImport {
  readonly #source: Source;
  /** By what tells those of a kind apart. */
  readonly #existing = new Map<SettingKind, Map<string, string>>();

  constructor(source: Source) {
    this.#source = source;
  }

  /** Throws an AnswerError if the server rejects it. */
  async add({ kind, fields: line }: Setting): Promise<void> {
    const fields = kind === "annotation" ? await this.#annotation(line) : line;
    const key = keyOf(kind, fields);
    const existing = (await this.#existingOf(kind)).get(key);
    if (existing === undefined) await this.#send("POST", `/api/${kind}s`, newOf[kind](fields));
    // A channel is created without its settings.
    if (existing !== undefined || kind === "channel") {
      const id = existing ?? String(fields.name);
      await this.#send("PATCH", `/api/${kind}s/${pathSegment(id)}`, changeOf[kind](fields));
    }
    if (kind === "channel") this.#existing.get(kind)!.set(key, String(fields.name));
    // What was created has an ID.
    else if (existing === undefined) this.#existing.delete(kind);
  }

  /** An annotation as the API takes it. */
  async #annotation({ of, board = null, ...fields }: Fields): Promise<Fields> {
    if (of !== "note") return { ...fields, type: of };
    if (board === null) return { ...fields, type: of, board };
    const id = (await this.#existingOf("board")).get(String(board));
    if (id === undefined) throw new AnswerError(422, `The project has no board "${board}".`);
    return { ...fields, type: of, board: id };
  }

  async #existingOf(kind: SettingKind): Promise<Map<string, string>> {
    const known = this.#existing.get(kind);
    if (known) return known;
    const existing = new Map<string, string>();
    for (const each of await this.#list(kind)) existing.set(keyOf(kind, each), each.id);
    this.#existing.set(kind, existing);
    return existing;
  }

  async #list(kind: SettingKind): Promise<readonly Existing[]> {
    if (kind === "annotation") return Array.fromAsync(annotationsOf(this.#source));
    return (await this.#source.json<Record<string, Existing[]>>(`/api/${kind}s`))[`${kind}s`]!;
  }

  async #send(method: "POST" | "PATCH", path: string, body: Fields): Promise<void> {
    await this.#source.request(path, { method, body: JSON.stringify(body) });
  }
}

/** The name. Only annotations can share one: notes that differ in it, their time or board are different notes. */
function keyOf(kind: SettingKind, fields: Fields): string {
  if (kind !== "annotation") return String(fields.name);
  const { type, name, at, board } = fields as Partial<Extract<Annotation, { type: "note" }>>;
  return JSON.stringify([type, name, at ?? null, board ?? null]);
}

/** What creates each kind. */
const newOf: Record<SettingKind, (fields: Fields) => Fields> = {
  channel: ({ name }) => ({ name }),
  cohort: ({ name, match, conditions }) => ({ name, match, conditions }),
  board: ({ name, tiles }) => ({ name, tiles }),
  annotation: ({ type, name, icon, color, q, enabled, at, board }) =>
    type === "note" ? { type, name, icon, color, at, board } : { type, name, icon, color, q, enabled },
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
  cohort: ({ match, conditions }) => ({ match, conditions }),
  board: ({ tiles }) => ({ tiles }),
  annotation: ({ type, icon, color, q, enabled }) =>
    type === "note" ? { icon, color } : { icon, color, q, enabled },
  rule: ({ q, when, urgent, enabled, everyone }) => ({
    q,
    when,
    urgent,
    ...(everyone === true && { enabled }),
  }),
};
