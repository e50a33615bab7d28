import type { Event } from "../../event/event.ts";
import type { Cursor } from "../../event/filter.ts";
import { tokensOf } from "../../event/tokens.ts";
import { dashed } from "../event-row.ts";
import type { OlderRow } from "../postgres/older.ts";
import { moreTokensOf } from "./event-tokens.ts";

type StoredEvent = Omit<Event, "id" | "createdAt">;

/** The columns of an event. An optional text that it doesn't have is empty. */
type EventColumns = {
  name: string;
  channel: string;
  user: string;
  icon: string;
  notify: 0 | 1;
  tags: Record<string, string>;
  event: string;
  description: string;
  /** The event's JSON as in PostgreSQL, if it can't be made of the columns. */
  body: string;
};

/** A row of PostgreSQL on its way to ClickHouse. Large integers are decimal texts. */
export type NewRow = EventColumns & {
  project: number;
  created: string;
  id_hi: string;
  id_lo: string;
  arrival: string;
  block: number;
  notified: 0 | 1;
  more_tokens: string[];
};

/** The columns of an event whose JSON PostgreSQL has. */
export function eventColumnsOf(projectId: number, body: string): EventColumns & { more_tokens: string[] } {
  const event = JSON.parse(`{${body}}`) as StoredEvent;
  const { name, channelId, userId, notify, tags, icon = "", description = "" } = event;
  const columns = {
    name,
    channel: channelId,
    user: userId,
    icon,
    tags,
    event: event.event ?? "",
    description,
  };
  const own: EventColumns = { ...columns, notify: notify ? 1 : 0, body: "" };
  return {
    ...own,
    body: bodyOf(own) === body ? "" : body,
    more_tokens: moreTokensOf(projectId, event),
  };
}

/** An event's JSON as PostgreSQL has it: fields in the order of the schema `Event`. */
function bodyOf({ name, channel, user, icon, notify, tags, event, description, body }: EventColumns): string {
  if (body !== "") return body;
  const members = { name, channelId: channel, userId: user, ...(icon !== "" && { icon }) };
  const texts = { ...(event !== "" && { event }), ...(description !== "" && { description }) };
  return JSON.stringify({ ...members, notify: Number(notify) === 1, tags, ...texts }).slice(1, -1);
}

/** The two halves of an event's id. Their order is that of ids. */
export function halvesOf(id: string): [high: string, low: string] {
  const hex = id.replaceAll("-", "");
  return [String(BigInt(`0x${hex.slice(0, 16)}`)), String(BigInt(`0x${hex.slice(16)}`))];
}

/** SQL for the columns of `FoundRow` and `WholeRow`. Conditions see these names, too, so none is that of another column. */
export const foundColumns =
  "created AS ms, lower(concat(leftPad(hex(id_hi), 16, '0'), leftPad(hex(id_lo), 16, '0'))) AS id, name, channel, user, icon, notify, tags, event, description, body";
export const wholeColumns = `${foundColumns}, project, toString(arrival) AS arrived, notified, block`;

/** SQL for the columns of `NewRow`. */
export const newRowColumns =
  "project, created, id_hi, id_lo, arrival, block, notified, name, channel, user, icon, notify, tags, event, description, body, more_tokens";

/** SQL for about as many bytes as the JSON of an event has. */
export const lengthSql =
  "length(body) + length(description) + length(name) + arraySum(v -> length(v), mapValues(tags)) + 200";

export type FoundRow = EventColumns & { ms: string; id: string };
export type WholeRow = FoundRow & { project: number; arrived: string; notified: number; block: string };

export function rowOf(row: FoundRow): Cursor & { body: string } {
  return { ms: Number(row.ms), id: dashed(row.id), body: bodyOf(row) };
}

export function wholeRowOf(row: WholeRow): OlderRow {
  const own = rowOf(row);
  return {
    ...own,
    arrival: row.arrived,
    notified: Number(row.notified) === 1,
    tokens: tokensOf(Number(row.project), JSON.parse(`{${own.body}}`) as StoredEvent),
    block: Number(row.block),
  };
}

/** SQL for the sum of a hash of each row, by which two copies of a block are compared. The sum wraps at 2^64. */
export const checksumSql = `sum(xxHash64(concat(${[
  ...["project", "created", "id_hi", "id_lo", "arrival", "notified", "notify"].map(
    (name) => `toString(${name})`,
  ),
  ...["name", "channel", "user", "icon", "event", "description", "body"],
  ...["mapKeys(tags)", "mapValues(tags)", "more_tokens"].map((list) => `arrayStringConcat(${list}, ' ')`),
].join(", ' ', ")})))`;

/** The same sum. */
export function checksumOf(rows: readonly NewRow[]): string {
  let sum = 0n;
  for (const row of rows) {
    const text = [
      ...[row.project, row.created, row.id_hi, row.id_lo, row.arrival, row.notified, row.notify],
      ...[row.name, row.channel, row.user, row.icon, row.event, row.description, row.body],
      ...[Object.keys(row.tags), Object.values(row.tags), row.more_tokens].map((list) => list.join(" ")),
    ].join(" ");
    sum = BigInt.asUintN(64, sum + Bun.hash.xxHash64(text));
  }
  return String(sum);
}
