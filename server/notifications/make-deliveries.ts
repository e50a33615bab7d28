import type { Insertable, Transaction } from "kysely";
import type { RuleNotification } from "../rules/rule-kind.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Rule } from "../wire/rule.ts";
import { type Decision, decide, defaultSettings, digestOfAll, emailDueMs } from "./apply-preferences.ts";
import { groupKeyOf } from "./group-key.ts";
import { MailQuota } from "./mail-quota.ts";
import { ProjectPreferences } from "./preferences.ts";

type NewDelivery = Insertable<ControlTables["deliveries"]>;

/** What a new delivery has; the other columns have their default. */
export const newDeliveryColumns = [
  "projectId",
  "eventId",
  "accountId",
  "destinationId",
  "ruleId",
  "channel",
  "groupKey",
  "notification",
  "kind",
  "label",
  "state",
  "createdAt",
  "nextAttemptAt",
  "deliveredAt",
  "reason",
  "until",
] as const satisfies (keyof NewDelivery)[];

/**
 * What a rule notifies of, and when that was found, in milliseconds since 1970. Without a rule, it is for those who want
 * all events.
 */
export type Found = {
  projectId: number;
  rule: Rule | null;
  notification: RuleNotification;
  foundMs: number;
};

type Place = {
  projectId: number;
  accountId: string | null;
  id: string;
  kind: string;
  label: string;
  /** Of the account: whether somebody has shown that they read its address. */
  emailVerified: number;
};
type Member = Place & { accountId: string };

/**
 * Returns a delivery for each notification and each place where it goes: the destinations of members that they have
 * turned on, as the members' preferences say, and those of the project. If several rules notify of an event, each place
 * gets it once, from the first, or from the first that is urgent.
 */
export async function deliveriesOf(
  transaction: Transaction<ControlTables>,
  found: readonly Found[],
  nowMs: number,
): Promise<NewDelivery[]> {
  if (found.length === 0) return [];
  const projects = [...new Set(found.map(({ projectId }) => projectId))];
  const places = await readPlaces(transaction, projects);
  const preferences = await ProjectPreferences.read(transaction, projects);
  const byEmail = [...places.values()].flat().filter(isByEmail);
  const quota = await MailQuota.read(transaction, byEmail, nowMs);
  const deliveries: NewDelivery[] = [];
  const madeByKey = new Map<string, { delivery: NewDelivery; isUrgent: boolean }>();
  for (const each of found) {
    if (each.rule === null && !preferences.hasFollowers(each.projectId)) continue;
    const all = places.get(each.projectId) ?? [];
    for (const place of all) {
      if (!isFor(each.rule, place) && !isFallbackFor(each.rule, place, all)) continue;
      const key = keyOf(each, place);
      const earlier = key === null ? undefined : madeByKey.get(key);
      if (earlier && (earlier.isUrgent || !each.rule?.urgent)) continue;
      // What is sent anyway is sent as urgent, without another mail of the quota.
      const isSent = earlier && !isHeld(earlier.delivery);
      const decision = isSent
        ? { action: "send" as const }
        : decideFor(preferences, quota, each, place, nowMs);
      if (decision === null) continue;
      const delivery = deliveryOf(each, place, decision);
      const made = earlier ? Object.assign(earlier.delivery, delivery) : delivery;
      if (!earlier) deliveries.push(made);
      if (key !== null) madeByKey.set(key, { delivery: made, isUrgent: each.rule?.urgent ?? false });
    }
  }
  await quota.save(transaction);
  return deliveries;
}

function isByEmail(place: Place): place is Member {
  return place.accountId !== null && place.kind === "email";
}

async function readPlaces(
  transaction: Transaction<ControlTables>,
  projects: readonly number[],
): Promise<Map<number, Place[]>> {
  const ofMembers: Place[] = await transaction
    .selectFrom("members")
    .innerJoin("destinations", "destinations.accountId", "members.accountId")
    .innerJoin("accounts", "accounts.id", "members.accountId")
    .select(["projectId", "members.accountId", "destinations.id", "kind", "label", "emailVerified"])
    .where("projectId", "in", projects)
    .where("enabled", "=", 1)
    .execute();
  const ofProjects = await transaction
    .selectFrom("projectDestinations")
    .select(["projectId", "id", "kind", "name as label"])
    .where("projectId", "in", projects)
    .where("enabled", "=", 1)
    .execute();
  return Map.groupBy(
    [...ofMembers, ...ofProjects.map((place): Place => ({ ...place, accountId: null, emailVerified: 0 }))],
    ({ projectId }) => projectId,
  );
}

/** Whether a place gets what a rule notifies of. Of those who want all events, their preferences decide. */
function isFor(rule: Rule | null, { accountId, id }: Place): boolean {
  if (rule === null) return accountId !== null;
  const { members, destinations, everyone } = rule.to;
  return accountId === null ? destinations.includes(id) : everyone || members.includes(accountId);
}

/** Whether a place stands in for one of the rule's destinations that is turned off or was deleted. */
function isFallbackFor(rule: Rule | null, { accountId, id }: Place, all: readonly Place[]): boolean {
  if (accountId !== null || rule?.to.fallback !== id) return false;
  const on = new Set(all.map((place) => place.id));
  return rule.to.destinations.some((destination) => !on.has(destination));
}

function keyOf({ projectId, notification }: Found, { id }: Place): string | null {
  return notification.type === "event" ? `${projectId} ${notification.event.id} ${id}` : null;
}

function isHeld({ state }: NewDelivery): boolean {
  return state === "skipped" || state === "collected";
}

function decideFor(
  preferences: ProjectPreferences,
  quota: MailQuota,
  found: Found,
  place: Place,
  nowMs: number,
): Decision | null {
  const wanted = decideByPreferences(preferences, found, place, nowMs);
  if (wanted === null || wanted.action === "skip" || !isByEmail(place)) return wanted;
  // It may be a stranger's address.
  if (place.emailVerified === 0) return { action: "skip", reason: "email-unverified", untilMs: null };
  if (wanted.action === "collect" || quota.take(place)) return wanted;
  const settings = preferences.of(place.projectId, place.accountId) ?? defaultSettings;
  const dueMs = emailDueMs({ ...settings, emailDigest: digestOfAll }, nowMs);
  return { action: "collect", reason: "email-quota", dueMs };
}

function decideByPreferences(
  preferences: ProjectPreferences,
  { projectId, rule, notification }: Found,
  { accountId, id, kind }: Place,
  nowMs: number,
): Decision | null {
  const own = accountId === null ? undefined : preferences.of(projectId, accountId);
  if (!own) return rule === null ? null : { action: "send" };
  const event = "event" in notification ? notification.event : null;
  const candidate = {
    destinationId: id,
    kind,
    event,
    isUrgent: rule?.urgent ?? false,
    isByRule: rule !== null,
  };
  return decide(own, candidate, nowMs);
}

function deliveryOf({ projectId, rule, notification, foundMs }: Found, place: Place, decision: Decision) {
  const delivery = {
    projectId,
    eventId: eventIdOf(notification),
    accountId: place.accountId,
    destinationId: place.id,
    ruleId: rule?.id ?? null,
    channel: "event" in notification ? notification.event.channelId : null,
    groupKey: place.kind === "dashboard" ? groupKeyOf(rule, notification) : null,
    notification: rule && textOf(rule, notification),
    kind: place.kind,
    label: place.label,
    createdAt: foundMs,
    reason: decision.action === "send" ? null : decision.reason,
    until: null,
    nextAttemptAt: null,
    deliveredAt: null,
  };
  switch (decision.action) {
    case "send":
      return place.kind === "dashboard"
        ? { ...delivery, state: "delivered" as const, deliveredAt: foundMs }
        : { ...delivery, state: "waiting" as const, nextAttemptAt: foundMs };
    case "skip":
      return { ...delivery, state: "skipped" as const, until: decision.untilMs };
    case "collect":
      return { ...delivery, state: "collected" as const, nextAttemptAt: decision.dueMs };
  }
}

/** The event on whose page a delivery is listed. */
function eventIdOf(notification: RuleNotification): string | null {
  if ("event" in notification) return notification.event.id;
  return notification.type === "summary" ? notification.firstId : null;
}

/** What a delivery says besides its event: null for an event itself. The rule may be renamed or deleted before. */
function textOf({ name, q }: Rule, notification: RuleNotification): string | null {
  if (notification.type === "event") return null;
  const { event: _, ...rest } = { event: null, ...notification };
  return JSON.stringify({ ...rest, rule: { name, q } });
}
