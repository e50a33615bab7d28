import type { Database } from "bun:sqlite";
import type { CountQuery } from "../store.ts";
import type { Turns } from "./turns.ts";

const hourMs = 3_600_000;
/** Hours that one statement reads. */
const hoursOfRun = 1_000;

/** Hours since 1970, and the channel or the name that was asked for. */
export type HourCount = { value: string; hour: number; events: number };

/** What is read of the counters: for each channel its own range of hours. */
export function createCounters(database: Database) {
  type Parameters = [
    projectId: number,
    fromHour: number,
    toHour: number,
    channel: string | null,
    name: string | null,
  ];
  const selectByChannel = database.prepare<HourCount, Parameters>(
    `SELECT channels.name AS value, hour, channel_counters.events
     FROM channels CROSS JOIN channel_counters
       ON channel_counters.project_id = channels.project_id AND channel = channels.name
     WHERE channels.project_id = ?1 AND hour >= ?2 AND hour < ?3
       AND channels.name = coalesce(?4, channels.name) AND ?5 IS NULL`,
  );
  const selectByName = database.prepare<HourCount, Parameters>(
    `SELECT counters.name AS value, hour, counters.events
     FROM channels CROSS JOIN counters ON counters.project_id = channels.project_id AND channel = channels.name
     WHERE channels.project_id = ?1 AND hour >= ?2 AND hour < ?3
       AND channels.name = coalesce(?4, channels.name) AND counters.name = coalesce(?5, counters.name)`,
  );
  const selectChannelsOfName = database.prepare<HourCount, Parameters>(
    `SELECT channels.name AS value, hour, counters.events
     FROM channels CROSS JOIN counters ON counters.project_id = channels.project_id AND channel = channels.name
     WHERE channels.project_id = ?1 AND hour >= ?2 AND hour < ?3
       AND channels.name = coalesce(?4, channels.name) AND counters.name = ?5`,
  );

  return {
    /** The counts of whole hours, in runs; a filter on anything but channel and name is not known here. */
    async *between(
      { projectId, filter, split }: CountQuery,
      range: { fromMs: number; toMs: number },
      turns: Turns,
    ): AsyncGenerator<HourCount[]> {
      const select =
        split?.by === "name"
          ? selectByName
          : filter.name === undefined
            ? selectByChannel
            : selectChannelsOfName;
      const toHour = range.toMs / hourMs;
      for (let hour = range.fromMs / hourMs; hour < toHour; hour += hoursOfRun) {
        const end = Math.min(hour + hoursOfRun, toHour);
        yield select.all(projectId, hour, end, filter.channel ?? null, filter.name ?? null);
        await turns.next();
      }
    },
  };
}
