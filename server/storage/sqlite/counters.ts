import type { Database } from "bun:sqlite";
import type { EventFilter, Split } from "../store.ts";

/** The channel or the name that was asked for, and where the hours begin that were added up; hours since 1970. */
export type HourCount = { value: string; hour: number; events: number };

/** Makes the function that reads the counters: for each channel its own range of hours. */
export function createCounters(database: Database) {
  const whole = (value: string, table: string, condition: string) =>
    `SELECT ${value} AS value, counted.hour, counted.events
     FROM channels CROSS JOIN ${table} AS counted
       ON counted.project_id = channels.project_id AND counted.channel = channels.name
     WHERE channels.project_id = ?1 AND counted.hour >= ?2 AND counted.hour < ?3
       AND (?4 IS NULL OR channels.name = ?4) AND ${condition}`;
  const summed = (value: string, table: string, condition: string) =>
    `SELECT value, ?2 AS hour, sum(events) AS events FROM (${whole(value, table, condition)}) GROUP BY value`;
  type Parameters = [
    projectId: number,
    fromHour: number,
    toHour: number,
    channel: string | null,
    name: string | null,
  ];
  const prepare = (...source: [value: string, table: string, condition: string]) => ({
    hours: database.prepare<HourCount, Parameters>(whole(...source)),
    sum: database.prepare<HourCount, Parameters>(summed(...source)),
  });
  const byChannel = prepare("channels.name", "channel_counters", "?5 IS NULL");
  const byChannelOfName = prepare("channels.name", "counters", "counted.name = ?5");
  const byName = prepare("counted.name", "counters", "(?5 IS NULL OR counted.name = ?5)");

  /** The counts of hours, each on its own or added up; a filter on anything but channel and name is not known here. */
  return function read(
    { projectId, filter, split }: { projectId: number; filter: EventFilter; split?: Split },
    [fromHour, toHour]: [number, number],
    addUp: boolean,
  ): HourCount[] {
    const source = split?.by === "name" ? byName : filter.name === undefined ? byChannel : byChannelOfName;
    const select = addUp ? source.sum : source.hours;
    return select.all(projectId, fromHour, toHour, filter.channel ?? null, filter.name ?? null);
  };
}
