import { type Kysely, sql } from "kysely";
import { isNumber } from "../event/number.ts";
import { printText, type SearchField, searchFields } from "../event/search.ts";
import { termAt } from "../event/term-at.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { KnownTexts } from "../storage/event-queries.ts";
import type { EventCounter, EventReader } from "../storage/event-store.ts";
import type { Completion } from "../wire/completion.ts";

type Suggestion = Completion["suggestions"][number];

/** Suggestions of each kind at the start of a term, and for values. */
const termsMax = 5;
const valuesMax = 20;
/** Values of a key that are looked at for numbers. */
const sampleValues = 50;

/** Suggests fields, and texts of the project's events, for the cursor position in a search. */
export function createComplete(
  control: Kysely<ControlTables>,
  events: EventReader & Pick<EventCounter, "flushCounters">,
) {
  async function channels(projectId: number, prefix: string, limit: number): Promise<string[]> {
    const pattern = `${prefix.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
    await events.flushCounters();
    const rows = await control
      .selectFrom("channels")
      .select("name")
      .where("projectId", "=", projectId)
      .where(({ fn }) => sql<boolean>`${fn("lower", ["name"])} LIKE ${pattern} ESCAPE '\\'`)
      .orderBy("events", "desc")
      .limit(limit)
      .execute();
    return rows.map(({ name }) => name);
  }

  /** Known texts that start with `typed`, also with the other case of the first letter. */
  async function knownTexts(
    projectId: number,
    texts: KnownTexts,
    typed: string,
    limit: number,
  ): Promise<string[]> {
    const [first = "", ...rest] = typed;
    const prefixes = new Set([
      typed,
      ...[first.toLowerCase(), first.toUpperCase()].map((letter) => letter + rest.join("")),
    ]);
    const found = await Promise.all(
      [...prefixes].map((prefix) => events.startingWith(projectId, texts, prefix, limit)),
    );
    return [...new Set(found.flat())].slice(0, limit);
  }

  const valuesOf: Record<
    SearchField,
    (projectId: number, typed: string, limit: number) => Promise<string[]>
  > = {
    channel: channels,
    name: (projectId, typed, limit) => knownTexts(projectId, { kind: "name" }, typed, limit),
    user: (projectId, typed, limit) => events.startingWith(projectId, { kind: "user" }, typed, limit),
    notify: async (_, typed) => ["true", "false"].filter((value) => value.startsWith(typed)),
  };

  async function terms(projectId: number, typed: string): Promise<Suggestion[]> {
    const fields = searchFields.filter((field) => field.startsWith(typed));
    const byField = (["channel", "name", "user"] as const).map(async (kind) => {
      // Without a prefix, any user could be meant.
      const texts = kind === "user" && typed === "" ? [] : await valuesOf[kind](projectId, typed, termsMax);
      return texts.map((text) => ({ kind, text, insert: `${kind}:${printText(text)}` }));
    });
    // Awaited together. If only one were awaited, a failure of the other would be unhandled.
    const [values, keys] = await Promise.all([
      Promise.all(byField),
      knownTexts(projectId, { kind: "key" }, typed, termsMax),
    ]);
    const keysFound = await Promise.all(keys.map((key) => keySuggestions(projectId, key)));
    return [
      ...fields.map((field) => ({ kind: "field" as const, text: `${field}:`, insert: `${field}:` })),
      ...values.flat(),
      ...keysFound.flat(),
    ];
  }

  /** A key with "=", and with the comparisons if some of its values are numbers. */
  async function keySuggestions(projectId: number, key: string): Promise<Suggestion[]> {
    const printed = printText(key);
    const values = await events.startingWith(projectId, { kind: "value", key }, "", sampleValues);
    const suggestion = (text: string, operator: string) =>
      ({ kind: "key", text, insert: `${printed}${operator}` }) as const;
    if (!values.some(isNumber)) return [suggestion(key, "=")];
    return [suggestion(key, "="), suggestion(`${key} >`, ">"), suggestion(`${key} <`, "<")];
  }

  return async function complete(projectId: number, q: string, at: number): Promise<Completion> {
    const term = termAt(q, at);
    if (term === null) return { ok: true, start: at, end: at, suggestions: [] };
    const { start, end, typed, of } = term;
    if (of === null) return { ok: true, start, end, suggestions: await terms(projectId, typed) };
    const values =
      "field" in of
        ? await valuesOf[of.field](projectId, typed, valuesMax)
        : await knownTexts(projectId, { kind: "value", key: of.key }, typed, valuesMax);
    const suggestions = values.map((text) => ({ kind: "value" as const, text, insert: printText(text) }));
    return { ok: true, start, end, suggestions };
  };
}
