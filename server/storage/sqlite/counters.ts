import type { Database } from "bun:sqlite";
import type { EventFilter } from "../../event/filter.ts";
import type { Split } from "../split.ts";

/** A channel or name, and its events from an hour on; hours since 1970. */
export type HourCount = { value: string; hour: number; events: number };

export function createCounters(database: Database) {
  type Parameters = [
    projectId: number,
    fromHour: number,
    toHour: number,
    channel: string | null,
    name: string | null,
  ];
  type Source = { value: "channels.name" | "counted.name"; table: string; condition: string };
  const hours = ({ value, table, condition }: Source) =>
    `SELECT ${value} AS value, counted.hour, counted.events
     FROM channels CROSS JOIN ${table} AS counted
       ON counted.project_id = channels.project_id AND counted.channel = channels.name
     WHERE channels.project_id = ?1 AND counted.hour >= ?2 AND counted.hour < ?3
       AND (?4 IS NULL OR channels.name = ?4) AND ${condition}`;
  // By channel, a subquery for each one takes three fifths of the time that grouping takes.
  const sum = ({ value, table, condition }: Source) =>
    value === "channels.name"
      ? `SELECT name AS value, ?2 AS hour,
           (SELECT sum(counted.events) FROM ${table} AS counted
            WHERE counted.project_id = ?1 AND counted.channel = channels.name
              AND counted.hour >= ?2 AND counted.hour < ?3 AND ${condition}) AS events
         FROM channels WHERE project_id = ?1 AND (?4 IS NULL OR name = ?4)`
      : `SELECT value, ?2 AS hour, sum(events) AS events FROM (${hours({ value, table, condition })}) GROUP BY value`;
  const prepare = (source: Source) => ({
    hours: database.prepare<HourCount, Parameters>(hours(source)),
    sum: database.prepare<HourCount, Parameters>(sum(source)),
  });
  const byChannel = prepare({
    value: "channels.name",
    table: "channel_counters",
    condition: "?5 IS NULL",
  });
  const byChannelOfName = prepare({
    value: "channels.name",
    table: "counters",
    condition: "counted.name = ?5",
  });
  const byName = prepare({
    value: "counted.name",
    table: "counters",
    condition: "counted.name <> '' AND (?5 IS NULL OR counted.name = ?5)",
  });

  const selectPartial = database.prepare<{ hour: number }, [number, number, number, string | null]>(
    `SELECT DISTINCT hour FROM counters
     WHERE project_id = ?1 AND name = '' AND hour >= ?2 AND hour < ?3 AND (?4 IS NULL OR channel = ?4) ORDER BY hour`,
  );

  return { read, partialHours };

  /** The hours in which some names have no counter of their own. */
  function partialHours(
    projectId: number,
    channel: string | undefined,
    [from, to]: [number, number],
  ): number[] {
    return selectPartial.all(projectId, from, to, channel ?? null).map(({ hour }) => hour);
  }

  /**
   * The counts of a range of hours, for each hour or as one sum. Of the filter, only channel and name count.
   */
  function read(
    { projectId, filter, split }: { projectId: number; filter: EventFilter; split?: Split },
    [fromHour, toHour]: [number, number],
    addUp: boolean,
  ): HourCount[] {
    const source = split?.by === "name" ? byName : filter.name === undefined ? byChannel : byChannelOfName;
    const select = addUp ? source.sum : source.hours;
    const counts = select.all(projectId, fromHour, toHour, filter.channel ?? null, filter.name ?? null);
    // The sum of a channel without events is null.
    return addUp ? counts.filter(({ events }) => events !== null) : counts;
  }
}
