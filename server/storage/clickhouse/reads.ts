import { limits } from "../../core/limits.ts";
import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { Cursor } from "../../event/filter.ts";
import { type LateQuery, lateReadMax, type NewerQuery } from "../event-queries.ts";
import { jsonOf } from "../event-row.ts";
import { arrivalOf, stampOf } from "../postgres/arrival.ts";
import type { Cut, OlderReads, OlderRow } from "../postgres/older.ts";
import { Conditions } from "./condition.ts";
import type { Parameters, Reader } from "./connection.ts";
import { countGroups } from "./count-groups.ts";
import { indexTokenOf } from "./event-tokens.ts";
import {
  type FoundRow,
  foundColumns,
  halvesOf,
  lengthSql,
  rowOf,
  type WholeRow,
  wholeColumns,
  wholeRowOf,
} from "./rows.ts";
import { withinSql } from "./within.ts";

/** Rows of a statement whose events must be checked with the filter, at first and at most. */
const checkedMin = 500;
const checkedMax = 20_000;
/** Bytes of events that one statement returns. An event can have a megabyte. */
const pageBytes = 16_777_216;
const arrivedBytes = 1_048_576;
/** The bounds of 64-bit integers, for reads without a range. */
const earliest = -(2 ** 53);
const latest = 2 ** 53;

/** Reads the events that are in ClickHouse, as far as a cut goes. */
export function createReads(clickHouse: Reader): Omit<OlderReads, "columns"> {
  /** Reads rows, in order, up to a number of bytes, but at least one. Tells whether there can be more. */
  async function readBounded<Found extends FoundRow>(
    {
      columns,
      where,
      order,
      limit,
      bytes,
    }: { columns: string; where: string; order: string; limit: number; bytes: number },
    parameters: Parameters,
  ): Promise<{ rows: Found[]; isCut: boolean }> {
    const rows = await clickHouse.read<Found & { found: string }>(
      `SELECT * FROM (
         SELECT *, count() OVER () AS found,
           sum(${lengthSql}) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS bytes
         FROM (SELECT ${columns} FROM events WHERE ${where} ORDER BY ${order} LIMIT ${limit}))
       WHERE bytes <= ${bytes} OR bytes = ${lengthSql}`,
      parameters,
    );
    return { rows, isCut: rows.length === limit || rows.length < Number(rows[0]?.found ?? 0) };
  }

  return {
    async page(cut, { projectId, filter, order, after }, match, limit) {
      const conditions = new Conditions(projectId);
      const { parameters } = conditions;
      const sql = conditions.sql(match.condition);
      const [direction, sign] = order === "asc" ? ["ASC", ">"] : ["DESC", "<"];
      const rows: ReturnType<typeof rowOf>[] = [];
      let checked = 0;
      for (let from: Cursor | undefined = after, size = checkedMin; ; size = Math.min(size * 4, checkedMax)) {
        const wanted = limit + 1 - rows.length;
        const where = [
          withinSql(cut, projectId, { fromMs: filter.fromMs ?? earliest, toMs: filter.toMs ?? latest }),
          ...(from ? afterSql(from, sign!) : []),
          ...(match.query === null && !match.needsRows ? [] : [sql]),
        ].join(" AND ");
        const page = await readBounded<FoundRow>(
          {
            columns: foundColumns,
            where,
            order: `created ${direction}, id_hi ${direction}, id_lo ${direction}`,
            limit: match.isRowExact ? wanted : Math.max(wanted, size),
            bytes: pageBytes,
          },
          parameters,
        );
        const found = page.rows.map(rowOf);
        for (const row of found) if (match.isRowExact || matches(filter, eventOf(row))) rows.push(row);
        if (rows.length > limit) {
          rows.length = limit;
          return { rows, next: cursorOf(rows.at(-1)!) };
        }
        if (!page.isCut) return { rows, next: null };
        from = cursorOf(found.at(-1)!);
        checked += found.length;
        if (match.isRowExact || checked >= checkedMax) return { rows, next: from };
      }
    },

    find: (cut, projectId, keys) => find(clickHouse, cut, projectId, keys),

    async arrivedBetween(projectId, after, upTo, limit) {
      const { rows } = await readBounded<WholeRow>(
        {
          columns: wholeColumns,
          where: `project = ${projectId} AND arrival > ${arrivalOf(after)} AND arrival <= ${upTo}`,
          order: "arrival",
          limit,
          bytes: arrivedBytes,
        },
        {},
      );
      return rows.map((row) => {
        const { id, body, ms } = rowOf(row);
        return { arrival: stampOf(row.arrived), json: jsonOf(id, body, ms) };
      });
    },

    countGroups: (cut, query) => countGroups(clickHouse, cut, query),

    async countTokens(cut, projectId, tokens) {
      const rows = await clickHouse.read<{ token: string; events: string; userId: string }>(
        `SELECT token, count() AS events, any(user) AS userId FROM (
           SELECT user, arrayJoin(arrayIntersect(tokens, {tokens:Array(String)})) AS token FROM events
           WHERE ${withinSql(cut, projectId, { fromMs: earliest, toMs: latest })} AND hasAny(tokens, {tokens:Array(String)}))
         GROUP BY token`,
        { tokens: tokens.map(indexTokenOf) },
      );
      const found = new Map(rows.map(({ token, ...counted }) => [token, counted]));
      return new Map(
        tokens.flatMap((token) => {
          const counted = found.get(indexTokenOf(token));
          return counted ? [[token, { ...counted, events: Number(counted.events) }]] : [];
        }),
      );
    },

    async usedTokens(tokens) {
      if (tokens.length === 0) return new Set();
      const rows = await clickHouse.read<{ token: string }>(
        `SELECT DISTINCT arrayJoin(arrayIntersect(tokens, {tokens:Array(String)})) AS token FROM events
         WHERE hasAny(tokens, {tokens:Array(String)})`,
        { tokens: tokens.map(indexTokenOf) },
      );
      const used = new Set(rows.map(({ token }) => token));
      return new Set(tokens.filter((token) => used.has(indexTokenOf(token))));
    },

    async countNewer(cut, { projectId, channels, max }: NewerQuery) {
      const from = channels.map(({ afterMs }) => arrivalOf({ ms: afterMs + 1, sequence: 0 }));
      // Most channels were read since the last block.
      const asked = channels
        .map((channel, at) => ({ ...channel, at }))
        .filter(({ at }) => BigInt(from[at]!) <= cut.arrival);
      const counts = channels.map(() => 0);
      for (const { at, name, afterMs } of asked) {
        const [row] = await clickHouse.read<{ events: string }>(
          `SELECT count() AS events FROM (
             SELECT 1 FROM events
             WHERE ${withinSql(cut, projectId, { fromMs: afterMs + 1, toMs: latest })} AND arrival >= ${from[at]} AND channel = {channel:String}
             LIMIT ${max})`,
          { channel: name },
        );
        counts[at] = Number(row!.events);
      }
      return counts;
    },

    async lateEvents(cut, { projectId, times }: LateQuery) {
      const age = limits.notifyAgeMs;
      const late: string[][] = [];
      for (const ms of times) {
        const [from, to] = [ms + 1, ms + age + 1].map((at) => arrivalOf({ ms: at, sequence: 0 }));
        if (BigInt(from!) > cut.arrival) {
          late.push([]);
          continue;
        }
        const { rows } = await readBounded<WholeRow>(
          {
            columns: wholeColumns,
            where: `${withinSql(cut, projectId, { fromMs: ms - age + 1, toMs: ms + age + limits.maxClockSkewMs + 1 })} AND arrival >= ${from} AND arrival < ${to}`,
            order: "arrival",
            limit: lateReadMax,
            bytes: pageBytes,
          },
          {},
        );
        const own = rows.map((row) => ({ ...rowOf(row), arrivedMs: stampOf(row.arrived).ms }));
        late.push(
          own
            .filter((row) => row.ms <= ms && row.arrivedMs - row.ms <= age)
            .map(({ id, body, ms }) => jsonOf(id, body, ms)),
        );
      }
      return late;
    },
  };
}

/** The events with these keys, in blocks that can be read. */
export async function find(
  clickHouse: Reader,
  cut: Pick<Cut, "block">,
  projectId: number,
  keys: readonly Cursor[],
): Promise<OlderRow[]> {
  if (keys.length === 0) return [];
  const rows = await clickHouse.read<WholeRow>(
    `SELECT ${wholeColumns} FROM events
     WHERE project = ${projectId} AND block <= ${cut.block} AND created IN (${keys.map(({ ms }) => ms).join(", ")})
       AND (created, id_hi, id_lo) IN (${keys.map(keySql).join(", ")})`,
  );
  return rows.map(wholeRowOf);
}

/** An event's key as a tuple. */
function keySql({ ms, id }: Cursor): string {
  return `(${ms}, ${halvesOf(id).join(", ")})`;
}

function afterSql(cursor: Cursor, sign: string): string[] {
  // The first is implied by the second, but chooses granules.
  return [`created ${sign}= ${cursor.ms}`, `(created, id_hi, id_lo) ${sign} ${keySql(cursor)}`];
}

function cursorOf({ ms, id }: Cursor): Cursor {
  return { ms, id };
}

function eventOf({ id, body, ms }: ReturnType<typeof rowOf>): Event {
  return JSON.parse(jsonOf(id, body, ms)) as Event;
}
