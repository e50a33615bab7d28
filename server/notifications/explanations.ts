import type { Kysely } from "kysely";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import { stampOfId } from "../event/id.ts";
import { valueOfEvent } from "../rules/for-each.ts";
import type { RuleSearches } from "../rules/rule-matcher.ts";
import { ruleOf } from "../rules/rules.ts";
import type { Explanation } from "../schemas/delivery.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { personsOf, searchOfPeople } from "../storage/people.ts";
import { levelKey } from "./apply-preferences.ts";
import {
  explain,
  type Folded,
  type Known,
  type KnownDestination,
  type Person,
  type QuietAlert,
} from "./explain.ts";
import { readNotification } from "./notification-message.ts";
import { OnCallRecipients } from "./on-call-recipients.ts";
import { ProjectPreferences } from "./preferences.ts";

type Control = Kysely<ControlTables>;

/** Summaries and digests of a rule are looked for among those made within this time after the event. */
const foldedWithinMs = limits.ruleMinutes * 60_000;

/** Reads what is needed to explain why members have no delivery of an event, and explains it. */
export async function explainEvent(
  control: Control,
  projectId: number,
  event: Event,
  about: Pick<Known, "nowMs" | "deliveryDays" | "isEmailAvailable">,
): Promise<Explanation[]> {
  const deliveries = await control
    .selectFrom("deliveries")
    .select(["accountId", "destinationId", "createdAt", "notification"])
    .where("eventId", "=", event.id)
    .where("projectId", "=", projectId)
    .execute();
  const own = deliveries.filter(({ notification }) => notification === null);
  const arrivedMs = own[0]?.createdAt ?? arrivalOf(event);
  const rows = await control.selectFrom("rules").selectAll().where("projectId", "=", projectId).execute();
  const rules = rows.map(ruleOf);
  const searches = new Map<string, RuleSearches>();
  const expand = (q: string) => searchOfPeople(control, projectId, q);
  for (const { id, q, resolve } of rules)
    searches.set(id, { q: await expand(q), resolve: resolve === null ? null : await expand(resolve) });
  const persons = await personsOf(control, projectId, [event.userId]);
  return explain({
    ...about,
    event,
    persons,
    searchOf: ({ id }) => searches.get(id)!,
    arrivedMs,
    rules,
    deliveries: own,
    folded: await readFolded(control, projectId, rows, arrivedMs),
    quiet: await readQuiet(control, projectId, arrivedMs, valuesOf(rules, event, persons)),
    people: await readPeople(control, projectId, event.channelId),
    onCall: await OnCallRecipients.read(
      control,
      rules.map((rule) => ({ projectId, rule })),
      arrivedMs,
    ),
    projectDestinations: await readProjectDestinations(control, projectId),
  });
}

/** Whether the deliveries of an event are still to be made. */
export async function isInOutbox(control: Control, projectId: number, eventId: string): Promise<boolean> {
  const entry = await control
    .selectFrom("outbox")
    .select("id")
    .where("eventId", "=", eventId)
    .where("projectId", "=", projectId)
    .executeTakeFirst();
  return entry !== undefined;
}

/** An id of the server contains it. A client's is from about the time when the event happened. */
function arrivalOf({ id, createdAt }: Event): number {
  return Math.max(stampOfId(id).ms, Date.parse(createdAt));
}

/** The values of an event that rules follow; empty stands for all events together. */
function valuesOf(rules: readonly Rule[], event: Event, persons: ReadonlyMap<string, string>): string[] {
  const fields = new Set(rules.map(({ forEach }) => forEach));
  const values = [...fields].flatMap((field) =>
    field === null ? [] : (valueOfEvent(field, event, persons) ?? []),
  );
  return ["", ...values];
}

/** The alerts that were open at a time and told of no further matches, by what is known of them now. */
async function readQuiet(
  control: Control,
  projectId: number,
  atMs: number,
  values: string[],
): Promise<QuietAlert[]> {
  const rows = await control
    .selectFrom("alerts")
    .select([
      "ruleId",
      "value",
      "acknowledgedAt",
      "acknowledgedBy",
      "acknowledgedUntil",
      "groupId",
      "toldAt",
      "id",
    ])
    .where("projectId", "=", projectId)
    .where("value", "in", values)
    .where((eb) => eb.or([eb("resolvedAt", "is", null), eb("resolvedAt", ">=", atMs)]))
    .where((eb) => eb.or([eb("acknowledgedAt", "<=", atMs), eb("groupId", "is not", null)]))
    .execute();
  return rows.flatMap(({ ruleId, value, ...row }): QuietAlert[] => {
    const { acknowledgedAt, acknowledgedUntil, acknowledgedBy: by, groupId, toldAt, id } = row;
    const isAcknowledged =
      acknowledgedAt !== null &&
      acknowledgedAt <= atMs &&
      (acknowledgedUntil === null || acknowledgedUntil > atMs);
    if (isAcknowledged) return [{ ruleId, value, why: "acknowledged", by }];
    const isCollected = groupId !== null && groupId !== id && (toldAt === null || toldAt > atMs);
    return isCollected ? [{ ruleId, value, why: "grouped" }] : [];
  });
}

async function readPeople(control: Control, projectId: number, channel: string): Promise<Person[]> {
  const members = await control
    .selectFrom("members")
    .innerJoin("accounts", "accounts.id", "members.accountId")
    .select(["accountId", "accounts.name", "accounts.email", "members.createdAt"])
    .where("projectId", "=", projectId)
    .orderBy("members.createdAt")
    .orderBy("accountId")
    .limit(limits.explainedMembers)
    .execute();
  if (members.length === 0) return [];
  const destinations = await control
    .selectFrom("destinations")
    .select(["id", "accountId", "kind", "name as label", "enabled", "createdAt"])
    .where(
      "accountId",
      "in",
      members.map(({ accountId }) => accountId),
    )
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  const ofAccount = Map.groupBy(destinations, ({ accountId }) => accountId);
  const preferences = await ProjectPreferences.read(control, [projectId]);
  return members.map(({ accountId, name, email, createdAt }) => {
    const all = ofAccount.get(accountId) ?? [];
    const levels = preferences.of(projectId, accountId)?.levels;
    const wantsAll = (id: string) =>
      (levels?.get(levelKey(channel, id)) ?? levels?.get(levelKey("", id))) === "all";
    return {
      accountId,
      name: name || email,
      joinedMs: createdAt,
      destinations: all.map(({ id, kind, label, enabled, createdAt: createdMs }) => ({
        id,
        kind,
        label,
        enabled: enabled === 1,
        createdMs,
      })),
      follows: new Set(all.flatMap(({ id }) => (wantsAll(id) ? [id] : []))),
    };
  });
}

async function readProjectDestinations(control: Control, projectId: number): Promise<KnownDestination[]> {
  const rows = await control
    .selectFrom("destinations")
    .select(["id", "kind", "name", "enabled", "createdAt"])
    .where("projectId", "=", projectId)
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  return rows.map(({ enabled, createdAt: createdMs, ...row }) => ({
    ...row,
    enabled: enabled === 1,
    createdMs,
  }));
}

/** Summaries and digests of the project's rules over time that may be about the time of the event. */
async function readFolded(
  control: Control,
  projectId: number,
  rules: readonly { id: string; condition: string }[],
  arrivedMs: number,
): Promise<Folded[]> {
  const folding = rules.flatMap(({ id, condition }) =>
    /"type":"(burst|digest)"/.test(condition) ? [id] : [],
  );
  if (folding.length === 0) return [];
  const rows = await control
    .selectFrom("deliveries")
    .select(["id", "ruleId", "eventId", "notification"])
    .where("projectId", "=", projectId)
    .where("ruleId", "in", folding)
    .where("notification", "is not", null)
    .where("createdAt", ">=", arrivedMs)
    .where("createdAt", "<", arrivedMs + foldedWithinMs)
    .orderBy("id")
    .limit(limits.pageItems)
    .execute();
  return rows.flatMap(({ id, ruleId, eventId, notification }): Folded[] => {
    const stored = readNotification(notification);
    if (stored.type !== "summary" && stored.type !== "digest") return [];
    return [{ id: String(id), ruleId: ruleId!, eventId, fromMs: stored.fromMs, toMs: stored.atMs }];
  });
}
