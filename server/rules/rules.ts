import type { Kysely, Selectable, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { withChange } from "../core/with-change.ts";
import type { NewRule, Rule, RuleChange } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import { dueAt, startState, startsAnew } from "./rule-state.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
export type RuleRow = Selectable<ControlTables["rules"]>;

/** The search of the rule that every project begins with. */
export const flagSearch = "notify:true";

const firstRule: NewRule = {
  name: "Events sent with notify",
  q: flagSearch,
  when: { type: "each" },
  to: { everyone: true, members: [], destinations: [], fallback: null },
  urgent: false,
  enabled: true,
};

/** Adds the rule that every project begins with: an event with `notify` notifies all members. */
export async function addFirstRule(control: Control, projectId: number): Promise<void> {
  await insertRule(control, projectId, firstRule);
}

/** Lets only one transaction at a time, on all nodes, change rules, or turn their matches into deliveries. */
export async function lockRules(transaction: Transaction<ControlTables>): Promise<void> {
  await withLock(transaction, "rules");
}

/** A project's rules, oldest first. */
export async function listRules(control: Control, projectId: number): Promise<Rule[]> {
  const rows = await control
    .selectFrom("rules")
    .selectAll()
    .where("projectId", "=", projectId)
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  return rows.map(ruleOf);
}

/** Throws `rule-unknown`. */
export async function findRule(control: Control, projectId: number, id: string): Promise<RuleRow> {
  const row = await control
    .selectFrom("rules")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("rule-unknown", { detail: "This project has no rule with this ID." });
  return row;
}

/**
 * Creates a rule. It begins now: earlier events don't count. Throws `rule-exists`, `limit-reached` and `body-invalid`.
 */
export async function createRule({ transaction, projectId, record }: Change, rule: NewRule): Promise<Rule> {
  await lockRules(transaction);
  const { count } = await transaction
    .selectFrom("rules")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .executeTakeFirstOrThrow();
  if (Number(count) >= limits.rules)
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.rules} rules. Delete one that you no longer need.`,
    });
  await checkName(transaction, projectId, rule.name);
  await checkRecipients(transaction, projectId, rule.to);
  const created = ruleOf(await insertRule(transaction, projectId, rule));
  const { id, name, q, when, to } = created;
  await record({ action: "rule.created", target: name, detail: { id, q, when, to } });
  return created;
}

/** Throws `rule-exists` if a rule of the project has this name: messages tell rules apart by it. */
async function checkName(
  transaction: Transaction<ControlTables>,
  projectId: number,
  name: string,
): Promise<void> {
  const other = await transaction
    .selectFrom("rules")
    .select("id")
    .where("projectId", "=", projectId)
    .where("name", "=", name)
    .executeTakeFirst();
  if (!other) return;
  throw problem("rule-exists", { detail: `The project has a rule called "${name}" already.` });
}

/** Throws `body-invalid` if a rule names somebody who is no member, or a destination that the project doesn't have. */
async function checkRecipients(
  transaction: Transaction<ControlTables>,
  projectId: number,
  { members, destinations, fallback }: Rule["to"],
): Promise<void> {
  const known = {
    members: await transaction
      .selectFrom("members")
      .select("accountId as id")
      .where("projectId", "=", projectId)
      .execute(),
    destinations: await transaction
      .selectFrom("destinations")
      .select("id")
      .where("projectId", "=", projectId)
      .execute(),
  };
  const errors = Object.entries({ members, destinations }).flatMap(([kind, ids]) => {
    const all = new Set(known[kind as keyof typeof known].map(({ id }) => id));
    const detail =
      kind === "members" ? "is not a member of the project" : "is not a destination of the project";
    return ids.flatMap((id, index) =>
      all.has(id) ? [] : [{ pointer: `/to/${kind}/${index}`, detail: `"${id}" ${detail}.` }],
    );
  });
  if (fallback !== null && !known.destinations.some(({ id }) => id === fallback))
    errors.push({ pointer: "/to/fallback", detail: `"${fallback}" is not a destination of the project.` });
  if (errors.length > 0) throw problem("body-invalid", { detail: errors[0]!.detail, errors });
}

/**
 * Changes a rule. It begins anew if other events match, or if it notifies at other times. Throws `rule-unknown`,
 * `changed-meanwhile`, `rule-exists` and `body-invalid`.
 */
export async function changeRule(
  { transaction, projectId, record }: Change,
  id: string,
  change: RuleChange,
  ifMatch: IfMatch,
): Promise<Rule> {
  await lockRules(transaction);
  const row = await findRule(transaction, projectId, id);
  const before = ruleOf(row);
  checkVersion(ifMatch, before);
  const after = withChange(before, change);
  // Rules of earlier versions may share a name until one of them is renamed.
  if (after.name !== before.name) await checkName(transaction, projectId, after.name);
  if (change.to) await checkRecipients(transaction, projectId, change.to);
  const state = startsAnew(before, after) ? startState(after, Date.now()) : JSON.parse(row.state);
  const changed = await transaction
    .updateTable("rules")
    .set({
      ...columnsOf(after),
      state: JSON.stringify(state),
      dueAt: after.enabled ? dueAt(after, state) : null,
    })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await record({ action: "rule.changed", target: after.name, detail: { id, ...change } });
  return ruleOf(changed);
}

/** Deletes a rule. Notifications that it has made are still sent. Throws `rule-unknown`. */
export async function deleteRule({ transaction, projectId, record }: Change, id: string): Promise<Rule> {
  await lockRules(transaction);
  const rule = ruleOf(await findRule(transaction, projectId, id));
  await transaction.deleteFrom("rules").where("id", "=", id).execute();
  await record({ action: "rule.deleted", target: rule.name, detail: { id } });
  return rule;
}

async function insertRule(control: Control, projectId: number, rule: NewRule): Promise<RuleRow> {
  const now = Date.now();
  const state = startState(rule, now);
  return control
    .insertInto("rules")
    .values({
      id: Bun.randomUUIDv7(),
      projectId,
      ...columnsOf(rule),
      state: JSON.stringify(state),
      dueAt: rule.enabled ? dueAt(rule, state) : null,
      createdAt: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

function columnsOf({ name, q, when, to, urgent, enabled }: NewRule) {
  return {
    name,
    q,
    condition: JSON.stringify(when),
    recipients: JSON.stringify(to),
    urgent: urgent ? 1 : 0,
    enabled: enabled ? 1 : 0,
  };
}

export function ruleOf(row: RuleRow): Rule {
  return {
    id: row.id,
    name: row.name,
    q: row.q,
    when: JSON.parse(row.condition),
    // Rules of earlier versions have no fallback.
    to: { fallback: null, ...JSON.parse(row.recipients) },
    urgent: row.urgent === 1,
    enabled: row.enabled === 1,
    version: versionOf(row.name, row.q, row.condition, row.recipients, row.urgent, row.enabled),
    createdAt: new Date(row.createdAt).toISOString(),
  };
}
