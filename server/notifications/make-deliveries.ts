import type { Insertable, Transaction } from "kysely";
import { aboutGroup, aboutValue } from "../rules/for-each.ts";
import { groupKeyOf } from "../rules/group-key.ts";
import type { ToldMatch } from "../rules/open-rule.ts";
import type { ToldNotification } from "../rules/rule-kind.ts";
import type { Rule } from "../schemas/rule.ts";
import { silenceText } from "../silences/coverage.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { RowsOf } from "../storage/store.ts";
import { type Decision, decide, defaultSettings, digestOfAll, emailDueMs } from "./apply-preferences.ts";
import { noticesOf } from "./held-messages.ts";
import { HourlyLimits } from "./hourly-limit.ts";
import { MailQuota } from "./mail-quota.ts";
import { deliveryTo, type Recipient } from "./new-delivery.ts";
import { OnCallRecipients } from "./on-call-recipients.ts";
import { ProjectPreferences } from "./preferences.ts";

type NewDelivery = Insertable<ControlTables["deliveries"]>;

/** What a new delivery has; the other columns have their default. */
const newDeliveryColumns = [
  "projectId",
  "eventId",
  "accountId",
  "destinationId",
  "ruleId",
  "alertId",
  "via",
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
  "detail",
] as const satisfies (keyof NewDelivery)[];

/** A recipient in a project. */
type ProjectRecipient = Recipient & {
  projectId: number;
  /** Of the account: whether somebody has shown that they read its address. */
  emailVerified: number;
  hourlyLimit: number | null;
};
type MemberRecipient = ProjectRecipient & { accountId: string };

/**
 * Returns a delivery for each match and each of its recipients: the destinations of members, as their preferences say,
 * and those of the project. Members are named by rules, or are on call in a schedule that is. If several rules match an
 * event, each recipient gets it once: from the first rule that no silence covers, or from the first of these that is
 * urgent. Hours of limits that have ended are told of, too.
 */
export async function deliveriesOf(
  transaction: Transaction<ControlTables>,
  matches: readonly ToldMatch[],
  nowMs: number,
): Promise<NewDelivery[]> {
  if (matches.length === 0) return [];
  const projects = [...new Set(matches.map(({ projectId }) => projectId))];
  const recipients = await readRecipients(transaction, projects);
  const preferences = await ProjectPreferences.read(transaction, projects);
  const onCall = await OnCallRecipients.read(transaction, matches, nowMs);
  const everybody = [...recipients.values()].flat();
  const quota = await MailQuota.read(transaction, everybody.filter(isByEmail), nowMs);
  const hourly = await HourlyLimits.read(transaction, everybody, nowMs);
  const deliveries: NewDelivery[] = [];
  const madeByKey = new Map<string, { delivery: NewDelivery; match: ToldMatch }>();
  for (const match of matches) {
    if (match.rule === null && !preferences.hasFollowers(match.projectId)) continue;
    const all = recipients.get(match.projectId) ?? [];
    for (const recipient of all) {
      const isNamed = isFor(match.rule, recipient) || isFallbackFor(match.rule, recipient, all);
      const via = isNamed ? null : onCall.reasonFor(match.rule, recipient.accountId);
      if (!isNamed && via === null) continue;
      const key = keyOf(match, recipient);
      const earlier = key === null ? undefined : madeByKey.get(key);
      if (earlier && !prevails(match, earlier.match)) continue;
      // What is sent anyway is sent as urgent, without another mail of the quota.
      const isSent = earlier && !isHeld(earlier.delivery);
      const decision = isSent
        ? { action: "send" as const }
        : decideFor(preferences, { quota, hourly }, match, recipient, nowMs);
      if (decision === null) continue;
      if (earlier?.delivery.reason === "hourly-limit") hourly.release(recipient, earlier.match);
      const delivery = { ...deliveryOf(match, recipient, decision), via };
      const made = earlier ? Object.assign(earlier.delivery, delivery) : delivery;
      if (!earlier) deliveries.push(made);
      if (key !== null) madeByKey.set(key, { delivery: made, match });
    }
  }
  await quota.save(transaction);
  await hourly.save(transaction);
  return [...deliveries, ...(await noticesOf(transaction, hourly.ended, nowMs))];
}

/** Whether a further match of an event takes the place of an earlier one. */
function prevails(match: ToldMatch, earlier: ToldMatch): boolean {
  if (match.silence !== null) return false;
  if (earlier.silence !== null) return true;
  return match.rule?.urgent === true && earlier.rule?.urgent !== true;
}

/** Stores the deliveries of matches. Returns how many there are. */
export async function makeDeliveries(
  transaction: Transaction<ControlTables>,
  rowsOf: RowsOf,
  matches: readonly ToldMatch[],
  nowMs: number,
): Promise<number> {
  const deliveries = await deliveriesOf(transaction, matches, nowMs);
  if (deliveries.length > 0)
    await transaction
      .insertInto("deliveries")
      .columns(newDeliveryColumns)
      .expression(rowsOf("deliveries", newDeliveryColumns, deliveries))
      .execute();
  return deliveries.length;
}

function isByEmail(recipient: ProjectRecipient): recipient is MemberRecipient {
  return recipient.accountId !== null && recipient.kind === "email";
}

async function readRecipients(
  transaction: Transaction<ControlTables>,
  projects: readonly number[],
): Promise<Map<number, ProjectRecipient[]>> {
  const ofMembers = await transaction
    .selectFrom("members")
    .innerJoin("destinations", "destinations.accountId", "members.accountId")
    .innerJoin("accounts", "accounts.id", "members.accountId")
    .select([
      "members.projectId",
      "members.accountId",
      "destinations.id",
      "kind",
      "destinations.name as label",
      "emailVerified",
      "hourlyLimit",
    ])
    .where("members.projectId", "in", projects)
    .where("enabled", "=", 1)
    .execute();
  const ofProjects = await transaction
    .selectFrom("destinations")
    .select(["projectId", "id", "kind", "name as label", "hourlyLimit"])
    .where("projectId", "in", projects)
    .where("enabled", "=", 1)
    .execute();
  return Map.groupBy(
    [
      ...ofMembers,
      ...ofProjects.map((row) => ({ ...row, projectId: row.projectId!, accountId: null, emailVerified: 0 })),
    ],
    ({ projectId }) => projectId,
  );
}

/** Whether a rule names the recipient. Without a rule, the preferences of members decide. */
function isFor(rule: Rule | null, { accountId, id }: Recipient): boolean {
  if (rule === null) return accountId !== null;
  const { members, destinations, everyone } = rule.to;
  return accountId === null ? destinations.includes(id) : everyone || members.includes(accountId);
}

/** Whether a recipient stands in for one of the rule's destinations that is turned off or was deleted. */
function isFallbackFor(rule: Rule | null, { accountId, id }: Recipient, all: readonly Recipient[]): boolean {
  if (accountId !== null || rule?.to.fallback !== id) return false;
  const on = new Set(all.map((recipient) => recipient.id));
  return rule.to.destinations.some((destination) => !on.has(destination));
}

function keyOf({ projectId, notification }: ToldMatch, { id }: Recipient): string | null {
  return notification.type === "event" ? `${projectId} ${notification.event.id} ${id}` : null;
}

function isHeld({ state }: NewDelivery): boolean {
  return state === "skipped" || state === "collected";
}

/**
 * Invariant: an address that nobody confirmed gets no notification, and those over the hourly quotas come in a digest.
 * The delivery says why. Checked by `server/notifications/mail-quota.test.ts`.
 *
 * Invariant: what a silence covers is a delivery that was skipped, which says who planned the silence, and why. Checked
 * by `server/silences/silences.test.ts`.
 */
function decideFor(
  preferences: ProjectPreferences,
  { quota, hourly }: { quota: MailQuota; hourly: HourlyLimits },
  match: ToldMatch,
  recipient: ProjectRecipient,
  nowMs: number,
): Decision | null {
  const wanted = decideByPreferences(preferences, match, recipient, nowMs);
  if (wanted === null || wanted.action === "skip") return wanted;
  const { silence } = match;
  if (silence)
    return { action: "skip", reason: "silenced", untilMs: silence.endsAt, detail: silenceText(silence) };
  if (isByEmail(recipient) && recipient.emailVerified === 0)
    return { action: "skip", reason: "email-unverified", untilMs: null };
  if (wanted.action === "collect") return wanted;
  if (!hourly.take(recipient, match)) return { action: "skip", reason: "hourly-limit", untilMs: null };
  if (!isByEmail(recipient) || quota.take(recipient)) return wanted;
  const settings = preferences.of(recipient.projectId, recipient.accountId) ?? defaultSettings;
  const dueMs = emailDueMs({ ...settings, emailDigest: digestOfAll }, nowMs);
  return { action: "collect", reason: "email-quota", dueMs };
}

function decideByPreferences(
  preferences: ProjectPreferences,
  { projectId, rule, notification }: ToldMatch,
  { accountId, id, kind }: Recipient,
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

function deliveryOf(
  { projectId, rule, value, notification, foundMs, alertId, group }: ToldMatch,
  recipient: Recipient,
  decision: Decision,
) {
  const delivery = {
    ...deliveryTo(
      recipient,
      {
        projectId,
        eventId: eventIdOf(notification),
        ruleId: rule?.id ?? null,
        alertId,
        channel: "event" in notification ? notification.event.channelId : null,
        groupKey: groupKeyOf(rule, value, notification),
        notification: rule && textOf(rule, value, notification, group),
      },
      foundMs,
    ),
    reason: null,
    until: null,
    detail: null as string | null,
  };
  if (decision.action === "send") return delivery;
  const { reason } = decision;
  const held = { ...delivery, reason, nextAttemptAt: null, deliveredAt: null };
  return decision.action === "skip"
    ? { ...held, state: "skipped" as const, until: decision.untilMs, detail: decision.detail ?? null }
    : { ...held, state: "collected" as const, nextAttemptAt: decision.dueMs };
}

/** The event on whose page a delivery is listed. */
function eventIdOf(notification: ToldNotification): string | null {
  if ("event" in notification) return notification.event.id;
  return notification.type === "summary" ? notification.firstId : null;
}

/** What a delivery says besides its event: null for an event itself. The rule may be renamed or deleted before. */
function textOf(
  rule: Rule,
  value: string | null,
  notification: ToldNotification,
  group: ToldMatch["group"],
): string | null {
  if (notification.type === "event") return null;
  const { event: _, ...rest } = { event: null, ...notification };
  const about = group ? aboutGroup(rule, group.value) : aboutValue(rule, value);
  return JSON.stringify({ ...rest, ...(group && { alerts: group.alerts }), rule: about });
}
