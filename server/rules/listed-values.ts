import type { Kysely } from "kysely";
import type { z } from "zod";
import { resolveAlertsOfRule } from "../alerts/alerts.ts";
import { lockRules } from "../alerts/rule-lock.ts";
import type { Change } from "../audit/changes.ts";
import { isoOf, isoOrNull } from "../core/iso.ts";
import { problem } from "../core/problems.ts";
import type { RuleValue, RuleValueListQuery } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { cursorOfText, textOfCursor } from "../validation/page-query.ts";
import { dueAt, type RuleState } from "./rule-state.ts";
import { countValues } from "./rule-values.ts";
import { findRule, ruleOf } from "./rules.ts";

/** A page of the values that a rule follows. Throws `rule-unknown`. */
export async function listValues(
  control: Kysely<ControlTables>,
  projectId: number,
  ruleId: string,
  { limit, cursor }: z.infer<typeof RuleValueListQuery>,
): Promise<{ values: RuleValue[]; nextCursor: string | null; count: number }> {
  const rule = ruleOf(await findRule(control, projectId, ruleId));
  const rows = await control
    .selectFrom("ruleValues")
    .leftJoin("alerts", (join) =>
      join
        .onRef("alerts.ruleId", "=", "ruleValues.ruleId")
        .onRef("alerts.value", "=", "ruleValues.value")
        .on("alerts.resolvedAt", "is", null),
    )
    .select(["ruleValues.value", "state", "seenAt", "alerts.id as alert"])
    .where("ruleValues.ruleId", "=", ruleId)
    .$if(cursor !== undefined, (query) => query.where("ruleValues.value", ">", textOfCursor(cursor!)))
    .orderBy("ruleValues.value")
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const counts = await countValues(control, [ruleId]);
  return {
    values: page.map(({ value, state: json, seenAt, alert }) => {
      const state = JSON.parse(json) as RuleState;
      const { kind } = state;
      const isSilent = kind !== null && "isSilent" in kind && kind.isSilent;
      return {
        value,
        seenAt: isoOf(seenAt),
        silentSince: isSilent ? isoOf(kind.sinceMs) : null,
        dueAt: rule.enabled && rule.when.type !== "count" ? isoOrNull(dueAt(rule, state)) : null,
        alert,
      };
    }),
    nextCursor: rows.length > limit ? cursorOfText(page.at(-1)!.value) : null,
    count: counts.get(ruleId) ?? 0,
  };
}

/**
 * Forgets a value of a rule until its next event, and resolves its alert. Throws `rule-unknown` and `value-unknown`.
 */
export async function forgetValue(change: Change, ruleId: string, value: string): Promise<void> {
  const { transaction, projectId, record } = change;
  await lockRules(transaction);
  const { name } = await findRule(transaction, projectId, ruleId);
  const { numDeletedRows } = await transaction
    .deleteFrom("ruleValues")
    .where("ruleId", "=", ruleId)
    .where("value", "=", value)
    .executeTakeFirst();
  if (Number(numDeletedRows) === 0)
    throw problem("value-unknown", {
      detail: `"${name}" doesn't follow this value. GET its /values to see them.`,
    });
  await resolveAlertsOfRule(change, ruleId, value);
  await record({ action: "rule.changed", target: name, detail: { id: ruleId, forgotten: true } });
}
