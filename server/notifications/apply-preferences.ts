import { nextDigestMs, quietUntilMs } from "../rules/schedule.ts";
import type { DeliveryReason } from "../schemas/delivery.ts";
import type { EmailDigest, Level } from "../schemas/preferences.ts";
import type { QuietHours } from "../schemas/quiet-hours.ts";

/** When an account wants to be notified. */
export type AccountSettings = {
  timeZone: string;
  quietHours: QuietHours | null;
  emailDigest: EmailDigest | null;
};

/** A member's preferences in a project. Times are in milliseconds since 1970. */
export type MemberPreferences = AccountSettings & {
  isUnsubscribed: boolean;
  /** By `levelKey`. */
  levels: ReadonlyMap<string, Level>;
  /** The name '' stands for the whole channel, `untilMs` is null for good. */
  mutes: readonly { channel: string; name: string; untilMs: number | null }[];
};

/** One notification for one of the account's destinations. */
export type Candidate = {
  destinationId: string;
  kind: string;
  /** Of the event that it tells of; null if it tells of none. */
  event: { channelId: string; name: string } | null;
  isUrgent: boolean;
  /** If it comes from a rule. Otherwise it is for those who want all events. */
  isByRule: boolean;
};

/**
 * Invariant: a notification that preferences hold back is a delivery too, skipped or collected, with the reason. So it
 * is deleted with its event, and later choices don't change the reason. Checked by
 * `server/notifications/preferences.test.ts` and `server/notifications/fan-out.test.ts`.
 */
export type Decision =
  | { action: "send" }
  | { action: "skip"; reason: DeliveryReason; untilMs: number | null; detail?: string }
  | { action: "collect"; reason: DeliveryReason; dueMs: number };

export const defaultSettings: AccountSettings = { timeZone: "UTC", quietHours: null, emailDigest: null };

/** Events that no rule matches are never emailed one by one, nor is what is over the quota of emails. */
export const digestOfAll: EmailDigest = { every: "hour" };

/** @param channel - '' for the whole project */
export function levelKey(channel: string, destinationId: string): string {
  return `${destinationId} ${channel}`;
}

/** The level of a destination in a channel, or else in the project. */
function levelOf({ levels }: MemberPreferences, destinationId: string, channel: string): Level {
  return levels.get(levelKey(channel, destinationId)) ?? levels.get(levelKey("", destinationId)) ?? "matters";
}

/** Decides on one notification. Null if it isn't for this destination at all. */
export function decide(preferences: MemberPreferences, candidate: Candidate, nowMs: number): Decision | null {
  const { destinationId, kind, event, isUrgent, isByRule } = candidate;
  const level = levelOf(preferences, destinationId, event?.channelId ?? "");
  if (!isByRule && level !== "all") return null;
  if (kind === "email" && preferences.isUnsubscribed) return skip("unsubscribed");
  const mute = event && preferences.mutes.find((each) => isMutedBy(each, event, nowMs));
  if (mute) return skip("muted", mute.untilMs);
  if (level === "none") return skip("level");
  if (kind === "dashboard" || isUrgent) return { action: "send" };
  if (kind === "email") return decideEmail(preferences, isByRule, nowMs);
  const quietMs = quietEndMs(preferences, nowMs);
  return quietMs === null ? { action: "send" } : skip("quiet-hours", quietMs);
}

function decideEmail(preferences: MemberPreferences, isByRule: boolean, nowMs: number): Decision {
  const emailDigest = preferences.emailDigest ?? (isByRule ? null : digestOfAll);
  const dueMs = emailDueMs({ ...preferences, emailDigest }, nowMs);
  if (dueMs === nowMs) return { action: "send" };
  return { action: "collect", reason: emailDigest ? "email-digest" : "quiet-hours", dueMs };
}

/** When an email about something that happened at a moment is due: with the next digest, but not in quiet hours. */
export function emailDueMs(settings: AccountSettings, nowMs: number): number {
  const { emailDigest, timeZone } = settings;
  const atMs = emailDigest ? nextDigestMs({ type: "digest", timeZone, ...emailDigest }, nowMs) : nowMs;
  return quietEndMs(settings, atMs) ?? atMs;
}

function quietEndMs({ quietHours, timeZone }: AccountSettings, nowMs: number): number | null {
  return quietHours && quietUntilMs({ ...quietHours, timeZone }, nowMs);
}

function isMutedBy(
  { channel, name, untilMs }: MemberPreferences["mutes"][number],
  event: { channelId: string; name: string },
  nowMs: number,
): boolean {
  return (
    channel === event.channelId &&
    (name === "" || name === event.name) &&
    (untilMs === null || nowMs < untilMs)
  );
}

function skip(reason: DeliveryReason, untilMs: number | null = null): Decision {
  return { action: "skip", reason, untilMs };
}
