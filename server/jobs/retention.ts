import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Event } from "../wire/event.ts";
import { removeAll, type Work } from "./work.ts";

const dayMs = 24 * 60 * 60 * 1_000;
/** A request that came before its project was deleted has ended after this time, and its event was stored. */
const lateMs = 60 * 60 * 1_000;

/** Removes the events that are older than their channel, or else their project, keeps them; gives how many. */
export async function expire(work: Work, nowMs: number): Promise<number> {
  const { control, events } = work.store;
  let count = 0;
  for (const { projectId, channel, days } of await keptForDays(control)) {
    const toMs = nowMs - days * dayMs;
    // Asked of the reader, which may take its time, so that the writer starts at the right place.
    const { events: oldest } = await events.page({ projectId, filter: { channel, toMs }, order: "asc" }, 1);
    if (oldest.length === 0) continue;
    const fromMs = Date.parse((JSON.parse(oldest[0]!) as Event).createdAt);
    count += await removeAll(work, { projectId, channel, fromMs, toMs });
    await work.pause();
  }
  return count;
}

/** The channels that hold events and do not keep them for good. */
async function keptForDays(
  control: Kysely<ControlTables>,
): Promise<{ projectId: number; channel: string; days: number }[]> {
  const rows = await control
    .selectFrom("channels")
    .innerJoin("projects", "projects.id", "channels.projectId")
    .select((eb) => [
      "channels.projectId",
      "channels.name as channel",
      eb.fn.coalesce("channels.retentionDays", "projects.retentionDays").as("days"),
    ])
    .where("channels.events", ">", 0)
    .execute();
  return rows.flatMap(({ days, ...row }) => (days === null ? [] : [{ ...row, days }]));
}

/** Removes what is left of projects whose deletion is a while ago, with events of requests that were under way then. */
export async function forgetDeletedProjects(work: Work, nowMs: number): Promise<void> {
  const { control } = work.store;
  const projects = await control
    .selectFrom("projects")
    .select("id")
    .where("deletedAt", "<", nowMs - lateMs)
    .execute();
  for (const { id } of projects) {
    await removeAll(work, { projectId: id });
    await control.deleteFrom("projects").where("id", "=", id).execute();
  }
}
