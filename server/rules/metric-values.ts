import type { Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type MetricState, metric, onReading } from "./metric.ts";
import { isBeyond } from "./metric-value.ts";
import type { RuleMatch } from "./open-rule.ts";
import type { ReadValue } from "./read-metric.ts";
import { minuteMs, type WhenOf } from "./rule-kind.ts";
import type { RuleState } from "./rule-state.ts";

type Control = Transaction<ControlTables>;
type Found = Pick<RuleMatch, "value" | "notification">;
/** How a value stands. */
type ValueState = Pick<MetricState, "pendingSinceMs" | "firingSinceMs">;

const dayMs = 24 * 60 * minuteMs;
/** How exactly it is known when a value was last seen, so that it isn't written at each reading. */
const seenMs = 60 * minuteMs;

/**
 * Applies a reading of a rule that measures each value by itself. Values without events are followed as long as they
 * are beyond the threshold, until the rule forgets them. Returns what was found, and since when the first one is
 * pending and firing.
 */
export async function applyToValues(
  transaction: Control,
  { id, when, forgetDays }: Pick<Rule, "id" | "forgetDays"> & { when: WhenOf<"metric"> },
  { dueMs, values }: { dueMs: number; values: ReadonlyMap<string | null, ReadValue> },
  nowMs: number,
): Promise<ValueState & { found: Found[] }> {
  const rows = await transaction.selectFrom("ruleValues").selectAll().where("ruleId", "=", id).execute();
  const known = new Map(rows.map((row) => [row.value, row]));
  const found: Found[] = [];
  const kept: ValueState[] = [];
  const gone: string[] = [];
  let room = limits.metricValues - known.size;
  for (const [value, read] of values) {
    if (value === null) continue;
    const row = known.get(value);
    if (!row && room <= 0) continue;
    const before = row ? stateIn(row.state) : { pendingSinceMs: null, firingSinceMs: null };
    const seenAt = read.isPresent ? nowMs : (row?.seenAt ?? nowMs);
    if (forgetDays !== null && seenAt + forgetDays * dayMs <= nowMs) {
      found.push({ value, notification: { type: "forgotten", atMs: nowMs } });
      gone.push(value);
      continue;
    }
    const step = onReading(when, { ...metric.start(dueMs), ...before }, { dueMs, value: read.value });
    found.push(...step.notifications.map((notification) => ({ value, notification })));
    const { pendingSinceMs, firingSinceMs } = step.state;
    if (!read.isPresent && firingSinceMs === null && !isBeyond(when, read.value)) {
      if (row) gone.push(value);
      continue;
    }
    kept.push({ pendingSinceMs, firingSinceMs });
    if (!row) room--;
    const isSame = pendingSinceMs === before.pendingSinceMs && firingSinceMs === before.firingSinceMs;
    if (row && isSame && seenAt - row.seenAt < seenMs) continue;
    await transaction
      .insertInto("ruleValues")
      .values({
        ruleId: id,
        value,
        state: textOf({ pendingSinceMs, firingSinceMs }),
        groupValue: "",
        dueAt: null,
        seenAt,
      })
      .onConflict((conflict) =>
        conflict.columns(["ruleId", "value"]).doUpdateSet((eb) => ({
          state: eb.ref("excluded.state"),
          seenAt: eb.ref("excluded.seenAt"),
        })),
      )
      .execute();
  }
  if (gone.length > 0)
    await transaction.deleteFrom("ruleValues").where("ruleId", "=", id).where("value", "in", gone).execute();
  return {
    found,
    pendingSinceMs: earliest(kept.map(({ pendingSinceMs }) => pendingSinceMs)),
    firingSinceMs: earliest(kept.map(({ firingSinceMs }) => firingSinceMs)),
  };
}

/** Lets what was pending begin again. */
export async function endPending(transaction: Control, ruleId: string): Promise<void> {
  const rows = await transaction.selectFrom("ruleValues").selectAll().where("ruleId", "=", ruleId).execute();
  for (const { value, state } of rows) {
    const { pendingSinceMs, firingSinceMs } = stateIn(state);
    if (pendingSinceMs === null) continue;
    await transaction
      .updateTable("ruleValues")
      .set({ state: textOf({ pendingSinceMs: null, firingSinceMs }) })
      .where("ruleId", "=", ruleId)
      .where("value", "=", value)
      .execute();
  }
}

function stateIn(json: string): ValueState {
  const { pendingSinceMs, firingSinceMs } = (JSON.parse(json) as RuleState).kind as MetricState;
  return { pendingSinceMs, firingSinceMs };
}

/** The rule has the rest of the state. */
function textOf(state: ValueState): string {
  const kind: MetricState = { nextMs: 0, last: null, failure: null, ...state };
  return JSON.stringify({ clockMs: 0, kind } satisfies RuleState);
}

function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((ms) => ms !== null);
  return known.length === 0 ? null : Math.min(...known);
}
