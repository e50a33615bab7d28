import type { Kysely, Selectable, Transaction } from "kysely";
import type { Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { minuteMs } from "./rule-kind.ts";
import { dueAt, type RuleState, startState } from "./rule-state.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
export type RuleValueRow = Selectable<ControlTables["ruleValues"]>;

/** How a value of a rule stands. Times are milliseconds since 1970. */
export type RuleValue = {
  value: string;
  /** Of its last event; empty for none. */
  groupValue: string;
  state: RuleState;
  seenMs: number;
  /** Null if it isn't stored yet. */
  stored: RuleState | null;
  /** Whether time has something to change. */
  isDue: boolean;
};

/** Values that are taken up in one transaction because they are due. */
const dueValuesMax = 200;
/** Rows that are written by one statement. */
const rowsPerWrite = 500;
const dayMs = 24 * 60 * minuteMs;

/** The values that are due, the longest overdue ones first; with `isWhole`, all. */
export async function readDueValues(
  control: Control,
  nowMs: number,
  isWhole: boolean,
): Promise<RuleValueRow[]> {
  return control
    .selectFrom("ruleValues")
    .selectAll()
    .where("dueAt", "<=", nowMs)
    .orderBy("dueAt")
    .$if(!isWhole, (query) => query.limit(dueValuesMax))
    .execute();
}

/** Those of some values that rules follow already. */
export async function readValues(
  control: Control,
  ruleIds: readonly string[],
  values: readonly string[],
): Promise<RuleValueRow[]> {
  if (ruleIds.length === 0 || values.length === 0) return [];
  return control
    .selectFrom("ruleValues")
    .selectAll()
    .where("ruleId", "in", ruleIds)
    .where("value", "in", values)
    .execute();
}

/** How many values each of some rules follows. */
export async function countValues(
  control: Control,
  ruleIds: readonly string[],
): Promise<Map<string, number>> {
  if (ruleIds.length === 0) return new Map();
  const rows = await control
    .selectFrom("ruleValues")
    .select((eb) => ["ruleId", eb.fn.countAll<number>().as("count")])
    .where("ruleId", "in", ruleIds)
    .groupBy("ruleId")
    .execute();
  return new Map(rows.map(({ ruleId, count }) => [ruleId, Number(count)]));
}

export function openValue(row: RuleValueRow, nowMs: number | null): RuleValue {
  const { value, groupValue, state, seenAt, dueAt } = row;
  const opened = JSON.parse(state) as RuleState;
  const isDue = dueAt !== null && nowMs !== null && dueAt <= nowMs;
  return { value, groupValue, state: opened, seenMs: seenAt, stored: opened, isDue };
}

/** A value whose first event arrives. */
export function newValue(rule: Rule, value: string, nowMs: number): RuleValue {
  return { value, groupValue: "", state: startState(rule, nowMs), seenMs: nowMs, stored: null, isDue: false };
}

/** Whether a value was gone for so long that its rule forgets it. It may come back as a new one. */
export function isForgotten(rule: Rule, value: RuleValue, nowMs: number): boolean {
  const atMs = forgottenAt(rule, value);
  return atMs !== null && atMs <= nowMs;
}

/**
 * When a rule forgets a value unless an event comes. Of a silence, that is after `forgetDays`; others forget what is
 * over anyway.
 */
function forgottenAt({ when, forgetDays }: Rule, { state, seenMs }: RuleValue): number | null {
  if (when.type === "silence") return forgetDays === null ? null : seenMs + forgetDays * dayMs;
  // Its readings say which of its values are gone.
  if (when.type === "metric") return null;
  if (dueAt({ when }, state) !== null) return null;
  return seenMs + ("minutes" in when ? 2 * when.minutes * minuteMs : 0);
}

/** Stores the values of a rule that have changed, and removes those that it forgot. */
export async function saveValues(
  transaction: Transaction<ControlTables>,
  rule: Rule,
  values: readonly RuleValue[],
  forgotten: readonly RuleValue[],
): Promise<void> {
  const changed = values.filter(({ state, stored, isDue }) => state !== stored || isDue);
  for (let at = 0; at < changed.length; at += rowsPerWrite)
    await transaction
      .insertInto("ruleValues")
      .values(changed.slice(at, at + rowsPerWrite).map((value) => rowOf(rule, value)))
      .onConflict((conflict) =>
        conflict.columns(["ruleId", "value"]).doUpdateSet((eb) => ({
          groupValue: eb.ref("excluded.groupValue"),
          state: eb.ref("excluded.state"),
          dueAt: eb.ref("excluded.dueAt"),
          seenAt: eb.ref("excluded.seenAt"),
        })),
      )
      .execute();
  const gone = forgotten.filter(({ stored }) => stored !== null).map(({ value }) => value);
  for (let at = 0; at < gone.length; at += rowsPerWrite)
    await transaction
      .deleteFrom("ruleValues")
      .where("ruleId", "=", rule.id)
      .where("value", "in", gone.slice(at, at + rowsPerWrite))
      .execute();
}

function rowOf(rule: Rule, value: RuleValue): RuleValueRow {
  const dueMs = Math.min(dueAt(rule, value.state) ?? Infinity, forgottenAt(rule, value) ?? Infinity);
  return {
    ruleId: rule.id,
    value: value.value,
    groupValue: value.groupValue,
    state: JSON.stringify(value.state),
    dueAt: Number.isFinite(dueMs) ? dueMs : null,
    seenAt: value.seenMs,
  };
}

/** When a value is due next; null if none is. */
export async function nextValueDueAt(control: Control): Promise<number | null> {
  const next = await control
    .selectFrom("ruleValues")
    .select("dueAt")
    .where("dueAt", "is not", null)
    .orderBy("dueAt")
    .limit(1)
    .executeTakeFirst();
  return next?.dueAt ?? null;
}

/**
 * Adapts the values of a rule that has changed. Those of a silence go on from now, if they are of the same events;
 * others begin anew with their next event.
 */
export async function restartValues(
  transaction: Transaction<ControlTables>,
  before: Rule,
  after: Rule,
): Promise<void> {
  const isSilence = before.when.type === "silence" && after.when.type === "silence";
  const ofRule = transaction.updateTable("ruleValues").where("ruleId", "=", after.id);
  if (!isSilence || before.q !== after.q || before.forEach !== after.forEach)
    await transaction.deleteFrom("ruleValues").where("ruleId", "=", after.id).execute();
  else if (after.enabled)
    await ofRule.set({ state: JSON.stringify(startState(after, Date.now())), dueAt: 0 }).execute();
  else await ofRule.set({ dueAt: null }).execute();
}

/** Lets the next step work out when the values of a rule are due. */
export async function wakeValues(transaction: Transaction<ControlTables>, ruleId: string): Promise<void> {
  await transaction.updateTable("ruleValues").set({ dueAt: 0 }).where("ruleId", "=", ruleId).execute();
}
