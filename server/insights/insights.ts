import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Insight, InsightAddition, InsightInList, InsightSetting } from "../schemas/insight.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
type InsightRow = Selectable<ControlTables["insights"]>;

type InsightKey = { projectId: number; key: string };
/** When an insight is set, and with which API key; null if a member sets it. */
type Setter = { nowMs: number; keyId: string | null };

const pointMs = limits.insightPointMinutes * 60_000;

/** A project's insights, by key, and which API key set each last. */
export async function listInsights(control: Control, projectId: number): Promise<InsightInList[]> {
  const rows = await control
    .selectFrom("insights")
    .leftJoin("keys", "keys.id", "insights.keyId")
    .selectAll("insights")
    .select(["keys.name as keyName", "keys.ending as keyEnding"])
    .where("insights.projectId", "=", projectId)
    .orderBy("insights.key")
    .execute();
  return rows.map(({ keyName, keyEnding, ...row }) => ({
    ...insightOf(row),
    setBy: row.keyId === null ? null : { id: row.keyId, name: keyName ?? "", ending: keyEnding ?? "" },
  }));
}

/** An insight, or null if it was never set. */
export async function findInsight(control: Control, { projectId, key }: InsightKey): Promise<Insight | null> {
  const row = await control
    .selectFrom("insights")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("key", "=", key)
    .executeTakeFirst();
  return row ? insightOf(row) : null;
}

/** An insight's history, oldest first: its value at the start of the range, and each point in it. */
export async function insightPoints(
  control: Control,
  { projectId, key }: InsightKey,
  { fromMs, toMs } = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER },
): Promise<{ at: string; value: number }[]> {
  const points = control
    .selectFrom("insightPoints")
    .select(["at", "value"])
    .where("projectId", "=", projectId)
    .where("key", "=", key);
  const before = await points.where("at", "<", fromMs).orderBy("at", "desc").limit(1).execute();
  const inRange = await points.where("at", ">=", fromMs).where("at", "<", toMs).orderBy("at").execute();
  return [...before, ...inRange].map(({ at, value }) => ({ at: new Date(at).toISOString(), value }));
}

/** Sets an insight. Throws `limit-reached`. */
export async function setInsight(
  control: Kysely<ControlTables>,
  insight: InsightKey,
  { value, ...texts }: InsightSetting,
  by: Setter,
): Promise<Insight> {
  return change(control, insight, { ...texts, first: value, next: sql`${value}` }, by);
}

/** Adds to an insight, which begins at 0. Additions at the same time all count. Throws `limit-reached`. */
export async function addToInsight(
  control: Kysely<ControlTables>,
  insight: InsightKey,
  { add, ...texts }: InsightAddition,
  by: Setter,
): Promise<Insight> {
  return change(control, insight, { ...texts, first: add, next: sql`insights.value + ${add}` }, by);
}

/** Deletes an insight and its history. Throws `insight-unknown`. */
export async function deleteInsight({ transaction, projectId, record }: Change, key: string): Promise<void> {
  const { numDeletedRows } = await transaction
    .deleteFrom("insights")
    .where("projectId", "=", projectId)
    .where("key", "=", key)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw unknownInsight();
  await record({ action: "insight.deleted", target: key });
}

export function unknownInsight() {
  return problem("insight-unknown", { detail: "The project has no insight with this key. PUT sets it." });
}

/** A new title or icon, and the value: of an insight that is new, and of one that exists. */
type InsightChange = {
  title?: string | undefined;
  icon?: string | undefined;
  first: number;
  next: RawBuilder<number>;
};

async function change(
  control: Kysely<ControlTables>,
  insight: InsightKey,
  change: InsightChange,
  by: Setter,
): Promise<Insight> {
  return control.transaction().execute(async (transaction) => {
    let row = await update(transaction, insight, change, by);
    if (!row) {
      await withLock(transaction, "insights");
      // Another request may have created it while this one waited.
      row =
        (await update(transaction, insight, change, by)) ?? (await insert(transaction, insight, change, by));
    }
    if (Math.abs(row.value) > limits.insightValue)
      throw problem("limit-reached", {
        detail: `The value would be beyond ${limits.insightValue}. Set it to a smaller one.`,
      });
    await addPoint(transaction, row, by.nowMs);
    return insightOf(row);
  });
}

/** It locks the row, so that changes of one insight follow one another on all nodes. */
function update(
  transaction: Transaction<ControlTables>,
  { projectId, key }: InsightKey,
  { title, icon, next }: InsightChange,
  { keyId, nowMs }: Setter,
): Promise<InsightRow | undefined> {
  return transaction
    .updateTable("insights")
    .set({
      value: next,
      updatedAt: nowMs,
      keyId,
      ...(title !== undefined && { title }),
      ...(icon !== undefined && { icon }),
    })
    .where("projectId", "=", projectId)
    .where("key", "=", key)
    .returningAll()
    .executeTakeFirst();
}

/** Throws `limit-reached`. */
async function insert(
  transaction: Transaction<ControlTables>,
  { projectId, key }: InsightKey,
  { title, icon, first }: InsightChange,
  { keyId, nowMs }: Setter,
): Promise<InsightRow> {
  const { count } = await transaction
    .selectFrom("insights")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .executeTakeFirstOrThrow();
  if (Number(count) >= limits.insights)
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.insights} insights. Delete one that you no longer need.`,
    });
  return transaction
    .insertInto("insights")
    .values({
      projectId,
      key,
      title: title ?? key,
      icon: icon ?? null,
      value: first,
      createdAt: nowMs,
      updatedAt: nowMs,
      keyId,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Notes a value in its history, and drops the oldest points. */
async function addPoint(
  transaction: Transaction<ControlTables>,
  { projectId, key, value }: InsightRow,
  nowMs: number,
): Promise<void> {
  const at = Math.floor(nowMs / pointMs) * pointMs;
  await transaction
    .insertInto("insightPoints")
    .values({ projectId, key, at, value })
    .onConflict((conflict) => conflict.columns(["projectId", "key", "at"]).doUpdateSet({ value }))
    .execute();
  const points = transaction
    .selectFrom("insightPoints")
    .select("at")
    .where("projectId", "=", projectId)
    .where("key", "=", key);
  const oldest = await points.orderBy("at", "desc").offset(limits.insightPoints).limit(1).executeTakeFirst();
  if (!oldest) return;
  await transaction
    .deleteFrom("insightPoints")
    .where("projectId", "=", projectId)
    .where("key", "=", key)
    .where("at", "<=", oldest.at)
    .execute();
}

function insightOf({ key, title, icon, value, createdAt, updatedAt }: InsightRow): Insight {
  return {
    key,
    title,
    ...(icon !== null && { icon }),
    value,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  };
}
