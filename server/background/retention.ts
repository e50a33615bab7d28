import type { Kysely } from "kysely";
import type { Event } from "../event/event.ts";
import type { EventFilter } from "../event/filter.ts";
import { limits } from "../limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Pause } from "../storage/store.ts";
import { type JobContext, removeAll } from "./job-context.ts";

const dayMs = 24 * 60 * 60 * 1_000;
/** A request that came before its project was deleted has ended after this time, and its event was stored. */
const lateMs = 60 * 60 * 1_000;

/** Rows that a step deletes from a control table. */
const stepRows = 200;

/**
 * Channels of one project that are gone through together, so that what lies side by side in the database is written once. Of more, the search
 * index would have too many lists to go through at each step.
 */
const channelsAtATime = 20;

/** Channels whose events up to a number of days ago go. */
type Sweep = { projectId: number; channels: string[]; days: number };

/** Removes the events that are older than their channel, or else their project, keeps them; gives how many. */
export async function expire(work: JobContext, nowMs: number): Promise<number> {
  const { control, events } = work.store;
  await events.flushCounters();
  const sweeps = sweepsOf(await keptForDays(control));
  // Before the others, which would take hours for what may go at once.
  const goneAtOnce = await events.removeExpired(nowMs, work.pause, work.onRemoved);
  let count = goneAtOnce;
  for (const { projectId, channels, days } of sweeps) {
    const toMs = nowMs - days * dayMs;
    // Asked of the reader, which may take its time, so that the writer starts at the right place.
    const filter: EventFilter = { search: { kind: "field", field: "channel", values: channels }, toMs };
    const { events: oldest } = await events.page({ projectId, filter, order: "asc" }, 1);
    if (oldest.length === 0 && goneAtOnce === 0) continue;
    if (oldest.length > 0) {
      const fromMs = Date.parse((JSON.parse(oldest[0]!) as Event).createdAt);
      count += await removeAll(work, { projectId, channels, fromMs, toMs });
    }
    await events.announceDeleted(projectId, { channels, before: new Date(toMs).toISOString() });
    await work.pause();
  }
  return count;
}

/** Of some channels of a project, first what is too old for those that keep longest, of all of them; then what is too old for the next. */
function sweepsOf(kept: Kept[]): Sweep[] {
  const sweeps: Sweep[] = [];
  for (const [projectId, all] of Map.groupBy(kept, (channel) => channel.projectId)) {
    all.sort((a, b) => a.days - b.days);
    for (let at = 0; at < all.length; at += channelsAtATime) {
      const some = all.slice(at, at + channelsAtATime);
      for (const days of new Set(some.map((channel) => channel.days).reverse())) {
        const channels = some.flatMap((channel) => (channel.days <= days ? [channel.name] : []));
        sweeps.push({ projectId, channels, days });
      }
    }
  }
  return sweeps;
}

type Kept = { projectId: number; name: string; days: number };

/** The channels that hold events and do not keep them for good. */
async function keptForDays(control: Kysely<ControlTables>): Promise<Kept[]> {
  const rows = await control
    .selectFrom("channels")
    .innerJoin("projects", "projects.id", "channels.projectId")
    .select((eb) => [
      "channels.projectId",
      "channels.name",
      eb.fn.coalesce("channels.retentionDays", "projects.retentionDays").as("days"),
    ])
    .where("channels.events", ">", 0)
    .execute();
  return rows.flatMap(({ days, ...row }) => (days === null ? [] : [{ ...row, days }]));
}

/** Removes deliveries and done jobs that are too old: the oldest first, a few in each commit, as events wait for it. */
export async function expireRecords({ store: { control }, pause }: JobContext, nowMs: number): Promise<void> {
  await inSteps(pause, () =>
    control
      .deleteFrom("deliveries")
      // Their ids are in the order of time, so that no index is needed to find the oldest.
      .where("id", "in", (eb) =>
        eb
          .selectFrom((oldest) =>
            oldest
              .selectFrom("deliveries")
              .select(["id", "createdAt"])
              .orderBy("id")
              .limit(stepRows)
              .as("oldest"),
          )
          .select("oldest.id")
          .where("oldest.createdAt", "<", nowMs - limits.deliveryDays * dayMs),
      )
      .executeTakeFirst(),
  );
  await inSteps(pause, () =>
    control
      .deleteFrom("jobs")
      .where("id", "in", (eb) =>
        eb
          .selectFrom("jobs")
          .select("id")
          .where("endedAt", "<", nowMs - limits.doneJobDays * dayMs)
          .limit(stepRows),
      )
      .executeTakeFirst(),
  );
}

/** Repeats a deletion of up to `stepRows` rows until it finds fewer. */
async function inSteps(pause: Pause, remove: () => Promise<{ numDeletedRows: bigint }>): Promise<void> {
  for (;;) {
    const { numDeletedRows } = await remove();
    if (numDeletedRows < stepRows) return;
    await pause();
  }
}

/** Removes what is left of projects whose deletion is a while ago, with events of requests that were under way then. */
export async function forgetDeletedProjects(work: JobContext, nowMs: number): Promise<void> {
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
