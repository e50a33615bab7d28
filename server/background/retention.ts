import type { Kysely } from "kysely";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { Search } from "../event/search.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Pause } from "../storage/event-store.ts";
import { withLock } from "../storage/settings.ts";
import type { Store } from "../storage/store.ts";
import { type JobContext, removeAll } from "./job-context.ts";

const dayMs = 24 * 60 * 60 * 1_000;
/**
 * After this time, requests that were in progress when a project was deleted have ended, and their events are stored.
 */
const inFlightMs = 60 * 60 * 1_000;

/** Rows of a control table deleted in one step. */
const stepRows = 200;

/**
 * Channels of a project that are expired together, so that database pages with events of several of them are written
 * once. With more, the search index would have too many lists to merge at each step.
 */
const channelsTogether = 20;

/** Removes the events of some channels that are older than a number of days. */
type Sweep = { projectId: number; channels: string[]; days: number };

/** Removes events past the retention of their channel, or else of their project. Returns their number. */
export async function expire(context: JobContext, nowMs: number): Promise<number> {
  const { control, events } = context.store;
  await events.flushCounters();
  const sweeps = sweepsOf(await channelsWithRetention(control));
  // First, because this is fast, and the others may take hours.
  const removedAtOnce = await events.removeExpired(nowMs, context.pause, context.onRemoved);
  let count = removedAtOnce;
  for (const sweep of sweeps) {
    const { projectId, channels, days } = sweep;
    const toMs = nowMs - days * dayMs;
    // Queried by the reader, which runs at lower priority, so that the writer starts at the right place.
    const oldest = await oldestOf(sweep, events, nowMs);
    if (!oldest && removedAtOnce === 0) continue;
    if (oldest) {
      const fromMs = Date.parse(oldest.createdAt);
      count += await removeAll(context, { projectId, channels, fromMs, toMs });
    }
    await events.announceDeleted(projectId, { channels, before: new Date(toMs).toISOString() });
    await context.pause();
  }
  return count;
}

/** The oldest event that a sweep removes. */
async function oldestOf(
  { projectId, channels, days }: Sweep,
  events: Store["events"],
  nowMs: number,
): Promise<Event | null> {
  const search: Search = { kind: "field", field: "channel", values: channels };
  const filter = { search, toMs: nowMs - days * dayMs };
  const [oldest] = (await events.page({ projectId, filter, order: "asc" }, 1)).events;
  return oldest === undefined ? null : (JSON.parse(oldest) as Event);
}

/**
 * For each group of channels: first the longest retention for all of them, then the next one for those that keep less.
 */
function sweepsOf(expiring: ExpiringChannel[]): Sweep[] {
  const sweeps: Sweep[] = [];
  for (const [projectId, ofProject] of Map.groupBy(expiring, (channel) => channel.projectId)) {
    ofProject.sort((a, b) => a.days - b.days);
    for (let at = 0; at < ofProject.length; at += channelsTogether) {
      const group = ofProject.slice(at, at + channelsTogether);
      for (const days of new Set(group.map((channel) => channel.days).reverse())) {
        const channels = group.flatMap((channel) => (channel.days <= days ? [channel.name] : []));
        sweeps.push({ projectId, channels, days });
      }
    }
  }
  return sweeps;
}

type ExpiringChannel = { projectId: number; name: string; days: number };

/** Channels that have events and don't keep them forever. */
async function channelsWithRetention(control: Kysely<ControlTables>): Promise<ExpiringChannel[]> {
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

/** How long deliveries are kept, and the audit log. */
type Kept = { deliveryDays: number; auditDays: number };

/**
 * The resolved alerts, ended silences, deliveries, queues of deliveries that no longer wait, finished jobs, requests of
 * webhooks, entries of the audit log, expired invitations and expired links of accounts that are too old, a few of
 * each.
 */
function expiredRecords(control: Kysely<ControlTables>, nowMs: number, { deliveryDays, auditDays }: Kept) {
  const before = (days: number) => nowMs - days * dayMs;
  return {
    auditLog: control
      .selectFrom("auditLog")
      .select("id")
      .where("createdAt", "<", before(auditDays))
      .limit(stepRows),
    // They say who looked after what, as the audit log does.
    alerts: control
      .selectFrom("alerts")
      .select("id")
      .where("resolvedAt", "<", before(auditDays))
      .limit(stepRows),
    silences: control
      .selectFrom("silences")
      .select("id")
      .where("endsAt", "<", before(auditDays))
      .limit(stepRows),
    // Ids are in order of time, so no index is needed to find the oldest.
    deliveries: control
      .selectFrom((eb) =>
        eb.selectFrom("deliveries").select(["id", "createdAt"]).orderBy("id").limit(stepRows).as("oldest"),
      )
      .select("oldest.id")
      .where("oldest.createdAt", "<", before(deliveryDays)),
    // What a deleted account or project leaves is among them.
    deliveryQueues: control
      .selectFrom("deliveryQueues")
      .select("destinationId")
      .where("heldUntil", "<", before(1))
      .limit(stepRows),
    jobs: control
      .selectFrom("jobs")
      .select("id")
      .where("endedAt", "<", before(limits.doneJobDays))
      .limit(stepRows),
    webhookRequests: control
      .selectFrom("webhookRequests")
      .select("id")
      .where("receivedAt", "<", before(limits.webhookRequestDays))
      .limit(stepRows),
    invitations: control
      .selectFrom("invitations")
      .select("id")
      .where("expiresAt", "<", before(limits.invitationDays))
      .limit(stepRows),
    accountLinks: control
      .selectFrom("accountLinks")
      .select("tokenHash")
      .where("expiresAt", "<", new Date(before(1)).toISOString())
      .limit(stepRows),
  };
}

/** Removes records that are too old. A few in each commit, because events wait for it. */
export async function expireRecords(
  { store: { control }, pause }: JobContext,
  nowMs: number,
  kept: Kept,
): Promise<void> {
  const {
    auditLog,
    alerts,
    silences,
    deliveries,
    deliveryQueues,
    jobs,
    webhookRequests,
    invitations,
    accountLinks,
  } = expiredRecords(control, nowMs, kept);
  await inSteps(pause, () => control.deleteFrom("auditLog").where("id", "in", auditLog).executeTakeFirst());
  await inSteps(pause, () => control.deleteFrom("alerts").where("id", "in", alerts).executeTakeFirst());
  await inSteps(pause, () => control.deleteFrom("silences").where("id", "in", silences).executeTakeFirst());
  await inSteps(pause, () =>
    control.deleteFrom("deliveries").where("id", "in", deliveries).executeTakeFirst(),
  );
  await inSteps(pause, () =>
    control.deleteFrom("deliveryQueues").where("destinationId", "in", deliveryQueues).executeTakeFirst(),
  );
  await inSteps(pause, () => control.deleteFrom("jobs").where("id", "in", jobs).executeTakeFirst());
  await inSteps(pause, () =>
    control.deleteFrom("webhookRequests").where("id", "in", webhookRequests).executeTakeFirst(),
  );
  await inSteps(pause, () =>
    control.deleteFrom("invitations").where("id", "in", invitations).executeTakeFirst(),
  );
  await inSteps(pause, () =>
    control.deleteFrom("accountLinks").where("tokenHash", "in", accountLinks).executeTakeFirst(),
  );
}

/**
 * Whether there is something to expire. It only reads, so that an idle server writes nothing; what a dead node left
 * half-removed is continued with the next expiry.
 */
export async function isAnythingExpired(
  { control, events }: Store,
  nowMs: number,
  kept: Kept,
): Promise<boolean> {
  const [project] = await deletedProjects(control, nowMs);
  if (project) return true;
  for (const expired of Object.values(expiredRecords(control, nowMs, kept))) {
    if (await expired.executeTakeFirst()) return true;
  }
  await events.flushCounters();
  for (const sweep of sweepsOf(await channelsWithRetention(control))) {
    if (await oldestOf(sweep, events, nowMs)) return true;
  }
  return false;
}

/** Repeats a deletion of up to `stepRows` rows until it finds fewer. */
async function inSteps(pause: Pause, remove: () => Promise<{ numDeletedRows: bigint }>): Promise<void> {
  for (;;) {
    const { numDeletedRows } = await remove();
    if (numDeletedRows < stepRows) return;
    await pause();
  }
}

/** Removes the rows of projects that were deleted a while ago, and events of requests that were in progress then. */
export async function removeDeletedProjects(context: JobContext, nowMs: number): Promise<void> {
  const { control } = context.store;
  for (const { id } of await deletedProjects(control, nowMs)) {
    await removeAll(context, { projectId: id });
    await control.transaction().execute(async (transaction) => {
      // Its heartbeats go with it, while pings of other projects may be stored.
      await withLock(transaction, "heartbeats");
      await transaction.deleteFrom("projects").where("id", "=", id).execute();
    });
  }
}

function deletedProjects(control: Kysely<ControlTables>, nowMs: number): Promise<{ id: number }[]> {
  return control
    .selectFrom("projects")
    .select("id")
    .where("deletedAt", "<", nowMs - inFlightMs)
    .execute();
}
