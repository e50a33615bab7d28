import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql } from "kysely";
import { makeChange } from "../audit/changes.ts";
import { isoOrNull } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { msOf } from "../event/event-query.ts";
import type { Actor } from "../http/caller.ts";
import { nextTurn } from "../scheduling/turns.ts";
import type { Delivery, DeliveryQuery, DeliveryRetry } from "../schemas/delivery.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { readNotification, titleOfNotification } from "./notification-message.ts";
import type { RecentEvents } from "./recent-events.ts";
import { titleOfReport } from "./report-message.ts";

type Control = Kysely<ControlTables>;

/** Deliveries that are changed in one commit, which events wait for. */
const stepRows = 500;
/** Deliveries that one statement looks at. The thread that answers requests may wait for it. */
const windowRows = 4_000;
/** Statements for one page. */
const windowsMax = 25;

/** An attempt that failed, as a delivery stores it; milliseconds since 1970. */
export type FailedAttempt = { atMs: number; detail: string };

/** Who lists deliveries: members without `rules:manage` see their own, and those to the project's destinations. */
export type DeliveryReader = { projectId: number; accountId: string | null };

type Page = { deliveries: Delivery[]; nextCursor: string | null };

/** A page of a project's deliveries, newest first. */
export async function listDeliveries(
  control: Control,
  events: Pick<RecentEvents, "find">,
  reader: DeliveryReader,
  query: DeliveryQuery,
): Promise<Page> {
  const { limit, cursor } = query;
  const isMatch = and(isReadable(reader), isIn(query));
  const found: Row[] = [];
  const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
  let last: number | null = null;
  let windows = 0;
  const all = windowsOf(control, reader.projectId, query.state, before);
  // The deliveries of an event have an index.
  for await (const window of query.event === undefined ? all : [{ from: null, before }]) {
    const rows = await selectDeliveries(control, reader.projectId)
      .where((eb) => and(isWithin(window), isMatch)(eb))
      .orderBy("deliveries.id", "desc")
      .limit(limit + 1 - found.length)
      .execute();
    found.push(...rows);
    last = window.from;
    if (found.length > limit || ++windows === windowsMax) break;
  }
  const page = found.slice(0, limit);
  const next = found.length > limit ? page.at(-1)!.id : last;
  return {
    deliveries: await Promise.all(
      page.map(async (row) => ({ ...deliveryOf(row), title: await titleOf(events, row) })),
    ),
    nextCursor: next === null ? null : String(next),
  };
}

/** How many of the deliveries that a reader sees are dead. */
export async function countDead(control: Control, reader: DeliveryReader): Promise<number> {
  const { count } = await control
    .selectFrom("deliveries")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("deliveries.projectId", "=", reader.projectId)
    .where(isDead)
    .where((eb) => isReadable(reader)(eb))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** A literal, so that the planner can use the index of dead deliveries. */
const isDead = sql<boolean>`deliveries.state = 'dead'`;

/** Ids of deliveries, from inclusive (null is the oldest) to exclusive. */
type Window = { from: number | null; before: number };

/**
 * Divides a project's deliveries, newest first, so that one statement looks at few of them.
 *
 * Invariant: a search through many deliveries is divided, since a store may read control tables on the thread that
 * answers all requests. Not checked by a test: only the time of each statement would show it.
 */
async function* windowsOf(
  control: Control,
  projectId: number,
  state: Delivery["state"] | undefined,
  before: number,
): AsyncGenerator<Window> {
  for (let upTo = before; ; ) {
    const first = await control
      .selectFrom("deliveries")
      .select("id")
      .where("projectId", "=", projectId)
      .$if(state === "dead", (select) => select.where(isDead))
      .where("id", "<", upTo)
      .orderBy("id", "desc")
      .offset(windowRows - 1)
      .limit(1)
      .executeTakeFirst();
    yield { from: first?.id ?? null, before: upTo };
    if (!first) return;
    upTo = first.id;
    // Waiting requests run first.
    await nextTurn(projectId);
  }
}

type Condition = (eb: ExpressionBuilder<ControlTables, "deliveries">) => Expression<SqlBool>;

function and(...conditions: Condition[]): Condition {
  return (eb) => eb.and(conditions.map((condition) => condition(eb)));
}

function isWithin({ from, before }: Window): Condition {
  return (eb) =>
    eb.and([eb("deliveries.id", "<", before), ...(from === null ? [] : [eb("deliveries.id", ">=", from)])]);
}

function isReadable({ accountId }: DeliveryReader): Condition {
  return (eb) =>
    accountId === null
      ? eb.and([])
      : eb.or([eb("deliveries.accountId", "is", null), eb("deliveries.accountId", "=", accountId)]);
}

type Filter = DeliveryRetry & Pick<DeliveryQuery, "state" | "event">;

function isIn({ state, kind, destination, account, rule, channel, event, from, to }: Filter): Condition {
  const equal = {
    kind,
    destinationId: destination,
    accountId: account,
    ruleId: rule,
    channel,
    eventId: event,
  };
  return (eb) =>
    eb.and([
      ...(state === undefined ? [] : [state === "dead" ? isDead : eb("deliveries.state", "=", state)]),
      ...Object.entries(equal).flatMap(([column, value]) =>
        value === undefined ? [] : [eb(`deliveries.${column as keyof typeof equal}`, "=", value)],
      ),
      // An account's own destinations have ids too.
      ...(destination === undefined ? [] : [eb("deliveries.accountId", "is", null)]),
      ...(from === undefined ? [] : [eb("deliveries.createdAt", ">=", msOf(from))]),
      ...(to === undefined ? [] : [eb("deliveries.createdAt", "<", msOf(to))]),
    ]);
}

/** The deliveries of an event: who was notified, how and when. */
export async function deliveriesOfEvent(
  control: Control,
  projectId: number,
  eventId: string,
): Promise<Delivery[]> {
  const rows = await selectDeliveries(control, projectId)
    .where("deliveries.eventId", "=", eventId)
    .orderBy("deliveries.id")
    .execute();
  return rows.map(deliveryOf);
}

/** Tries a dead delivery again. Throws `delivery-unknown` and `delivery-not-dead`. */
export async function retryDelivery(
  control: Control,
  projectId: number,
  id: string,
  actor: Actor,
  nowMs: number,
): Promise<Delivery> {
  // Other texts can't be ids.
  const number = /^\d{1,15}$/.test(id) ? Number(id) : 0;
  return makeChange(control, { projectId, actor }, async ({ transaction, record }) => {
    const find = () =>
      selectDeliveries(transaction, projectId).where("deliveries.id", "=", number).executeTakeFirst();
    const before = await find();
    if (!before) throw problem("delivery-unknown", { detail: "This project has no delivery with this ID." });
    if ((await markWaiting(transaction, [number], nowMs)) === 0) {
      throw problem("delivery-not-dead", {
        detail: `Only dead deliveries can be retried. This one is ${before.state}.`,
      });
    }
    await record({
      action: "deliveries.retried",
      target: before.label,
      detail: { count: 1, id },
    });
    return deliveryOf((await find())!);
  });
}

/** Tries dead deliveries again, all or those of a filter, the newest up to the limit. Returns their number. */
export async function retryDeadDeliveries(
  control: Control,
  projectId: number,
  filter: DeliveryRetry,
  actor: Actor,
  nowMs: number,
): Promise<number> {
  const dead: { id: number; label: string }[] = [];
  for await (const window of windowsOf(control, projectId, "dead", Number.MAX_SAFE_INTEGER)) {
    const rows = await control
      .selectFrom("deliveries")
      .select(["id", "label"])
      .where("projectId", "=", projectId)
      .where((eb) => and(isWithin(window), isIn({ ...filter, state: "dead" }))(eb))
      .orderBy("id", "desc")
      .limit(limits.retriedDeliveries - dead.length)
      .execute();
    dead.push(...rows);
    if (dead.length === limits.retriedDeliveries) break;
  }
  const ids = dead.map(({ id }) => id);
  if (ids.length === 0) return 0;
  let retried = await makeChange(control, { projectId, actor }, async ({ transaction, record }) => {
    await record({
      action: "deliveries.retried",
      target: filter.destination === undefined ? null : dead[0]!.label,
      detail: { count: ids.length, ...filter },
    });
    return markWaiting(transaction, ids.slice(0, stepRows), nowMs);
  });
  for (let start = stepRows; start < ids.length; start += stepRows)
    retried += await markWaiting(control, ids.slice(start, start + stepRows), nowMs);
  return retried;
}

/** Makes dead deliveries due. Returns how many of them were dead. */
async function markWaiting(control: Control, ids: number[], nowMs: number): Promise<number> {
  const { numUpdatedRows } = await control
    .updateTable("deliveries")
    .set({ state: "waiting", nextAttemptAt: nowMs })
    .where("id", "in", ids)
    .where("state", "=", "dead")
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

function selectDeliveries(control: Control, projectId: number) {
  return (
    control
      .selectFrom("deliveries")
      .leftJoin("accounts", "accounts.id", "deliveries.accountId")
      .leftJoin("rules", "rules.id", "deliveries.ruleId")
      .leftJoin("deliveryQueues", "deliveryQueues.destinationId", "deliveries.destinationId")
      .selectAll("deliveries")
      .select(["accounts.name as account", "rules.name as ruleName", "heldUntil"])
      .where("deliveries.projectId", "=", projectId)
      // Not those of deleted accounts.
      .where((eb) => eb.or([eb("deliveries.accountId", "is", null), eb("accounts.id", "is not", null)]))
  );
}

type Row = Awaited<ReturnType<ReturnType<typeof selectDeliveries>["execute"]>>[number];

function deliveryOf(row: Row): Delivery {
  const notification = readNotification(row.notification);
  const ruleName = row.ruleName ?? ("rule" in notification ? notification.rule.name : null);
  return {
    id: String(row.id),
    type: notification.type,
    kind: row.kind,
    label: row.label,
    account: row.account,
    accountId: row.accountId,
    destination: row.accountId === null ? row.destinationId : null,
    channel: row.channel,
    rule: row.ruleId === null ? null : { id: row.ruleId, name: ruleName },
    event: row.eventId,
    via: row.via,
    state: row.state,
    attempts: row.attempts,
    detail: row.detail,
    failures: failuresOf(row.failures),
    createdAt: new Date(row.createdAt).toISOString(),
    deliveredAt: isoOrNull(row.deliveredAt),
    nextAttemptAt: isoOrNull(nextAttemptMs(row)),
    readAt: isoOrNull(row.readAt),
    reason: row.reason,
    until: isoOrNull(row.until),
    digest: row.digestId === null ? null : String(row.digestId),
  };
}

/** When a delivery is sent: not before its destination's queue. */
function nextAttemptMs({ state, nextAttemptAt, heldUntil }: Row): number | null {
  return state === "waiting" && nextAttemptAt !== null && heldUntil !== null
    ? Math.max(nextAttemptAt, heldUntil)
    : nextAttemptAt;
}

/** The title of a delivery; null if its event was deleted. */
async function titleOf(
  events: Pick<RecentEvents, "find">,
  { projectId, eventId, notification }: Pick<Row, "projectId" | "eventId" | "notification">,
): Promise<string | null> {
  const stored = readNotification(notification);
  if (stored.type === "event") return (await events.find(projectId, eventId!))?.name ?? null;
  if (stored.type === "report") return titleOfReport(stored);
  if (stored.type === "email-digest") return "Notifications by email, together";
  return titleOfNotification(stored);
}

function failuresOf(json: string | null): Delivery["failures"] {
  if (json === null) return [];
  const failures = JSON.parse(json) as FailedAttempt[];
  return failures.map(({ atMs, detail }) => ({ at: new Date(atMs).toISOString(), detail }));
}
