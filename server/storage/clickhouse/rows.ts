import type { Cursor } from "../../event/filter.ts";
import { dashed } from "../event-row.ts";
import type { OlderRow } from "../postgres/older.ts";

/** A row of PostgreSQL on its way to ClickHouse. Large integers are decimal texts. */
export type NewRow = {
  project: number;
  created: string;
  id_hi: string;
  id_lo: string;
  arrival: string;
  block: number;
  notified: 0 | 1;
  body: string;
  tokens: string[];
};

/** The two halves of an event's id. Their order is that of ids. */
export function halvesOf(id: string): [high: string, low: string] {
  const hex = id.replaceAll("-", "");
  return [String(BigInt(`0x${hex.slice(0, 16)}`)), String(BigInt(`0x${hex.slice(16)}`))];
}

/** SQL for the columns of `FoundRow` and `WholeRow`. Conditions see these names, too, so none is that of another column. */
export const foundColumns =
  "created AS ms, lower(concat(leftPad(hex(id_hi), 16, '0'), leftPad(hex(id_lo), 16, '0'))) AS id, body";
export const wholeColumns = `${foundColumns}, toString(arrival) AS arrived, notified, arrayStringConcat(tokens, ' ') AS token_list, block`;

export type FoundRow = { ms: string; id: string; body: string };
export type WholeRow = FoundRow & { arrived: string; notified: number; token_list: string; block: string };

export function rowOf({ ms, id, body }: FoundRow): Cursor & { body: string } {
  return { ms: Number(ms), id: dashed(id), body };
}

export function wholeRowOf(row: WholeRow): OlderRow {
  return {
    ...rowOf(row),
    arrival: row.arrived,
    notified: Number(row.notified) === 1,
    tokens: row.token_list,
    block: Number(row.block),
  };
}

/** SQL for the sum of a hash of each row, by which two copies of a block are compared. The sum wraps at 2^64. */
export const checksumSql =
  "sum(xxHash64(concat(toString(project), ' ', toString(created), ' ', toString(id_hi), ' ', toString(id_lo), ' ', toString(arrival), ' ', toString(notified), ' ', body, ' ', arrayStringConcat(tokens, ' '))))";

/** The same sum. */
export function checksumOf(rows: readonly NewRow[]): string {
  let sum = 0n;
  for (const { project, created, id_hi, id_lo, arrival, notified, body, tokens } of rows) {
    const text = `${project} ${created} ${id_hi} ${id_lo} ${arrival} ${notified} ${body} ${tokens.join(" ")}`;
    sum = BigInt.asUintN(64, sum + Bun.hash.xxHash64(text));
  }
  return String(sum);
}
