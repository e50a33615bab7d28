import { isoOf } from "../core/iso.ts";
import type { EventGroup } from "../rules/event-groups.ts";
import { minuteMs, type ReadMetric, type ToldNotification } from "../rules/rule-kind.ts";
import type { ReportPeriod } from "../schemas/report.ts";
import { formatDuration } from "./format-duration.ts";
import { escapeMarkdown } from "./kinds/markup.ts";
import { fieldsOfEvent, type Message, messageOfEvent, threadOf } from "./message.ts";
import { textOfMetric, titleOfMetric } from "./metric-message.ts";

type WithoutEvent<Match> = Match extends unknown ? Omit<Match, "event"> : never;

/** What a rule over time found, with the rule as it was then. */
type OverTime = WithoutEvent<Exclude<ToldNotification, { type: "event" }>> & {
  rule: { name: string; q: string };
  /** Of what is about a group: how many alerts it is about. */
  alerts?: number;
};

/** Sentences for the owners of a project or of the server, for whoever comes on call, or for a destination. */
type Notice = { atMs: number; title: string; detail: string };

/** What a delivery says. It stores no events, which may be deleted before it is sent. */
export type Notification =
  | { type: "event" }
  | OverTime
  /** A destination of the project was turned off, because it failed for too long or no longer exists. */
  | (Notice & { type: "destination-off"; destination: { id: string; name: string } })
  /** An urgent message to a destination of the project was not delivered, and is not tried again. */
  | (Notice & { type: "delivery-dead"; destination: { id: string; name: string } })
  /** The metric of a rule couldn't be read for long. */
  | (Notice & { type: "rule-failing"; rule: { id: string; name: string } })
  /** How many messages a limit of the destination, or of the account's, has held back. */
  | (Notice & {
      type: "messages-held";
      destination: { id: string; name: string };
      accountId: string | null;
    })
  /** Something about the server, such as a backup that failed (server-outages.ts). */
  | (Notice & { type: "server-notice" })
  /** A member comes on call in a schedule. */
  | (Notice & { type: "on-call"; schedule: { id: string; name: string } })
  | { type: "email-digest"; fromMs: number; atMs: number }
  | ReportNotification;

/** A report that is due. Its numbers are computed when it is sent, so they are stored nowhere. */
export type ReportNotification = {
  type: "report";
  report: string;
  board: { id: string; name: string };
  /** The period, which a changed schedule doesn't change. */
  every: ReportPeriod;
  timeZone: string;
  beforeMs: number;
  fromMs: number;
  toMs: number;
  atMs: number;
  /** Somebody tries it. */
  isTest: boolean;
};

export type MemberNotice = Extract<Notification, Notice>;

/** Reads what a delivery stores. */
export function readNotification(json: string | null): Notification {
  if (json === null) return { type: "event" };
  const stored = JSON.parse(json);
  // Earlier versions kept less.
  const missing = stored.type === "summary" ? { total: stored.count + 1, groups: [] } : {};
  return { newestIds: [], ...missing, ...stored };
}

type About = Pick<Message, "id" | "project" | "urgent"> & {
  baseUrl: string;
  ruleId: string | null;
  /** As it is now; null if it was deleted. */
  ruleName?: string | null;
  /** The alert that it belongs to, and the recipient's link and buttons. */
  alert?: ({ id: string } & NonNullable<Message["alert"]>) | null;
};

/**
 * The events that a message tells of.
 *
 * Invariant: a rule's message names events by their ids and is rendered when it is sent, so deleted events are not in
 * it. Checked by `server/notifications/project-deliveries.test.ts`.
 */
export type ToldEvents = Pick<Message, "event" | "newest">;

/** Whether a notification can't be sent without its event. */
export function tellsOfEvent({ type }: Notification): boolean {
  return type === "event" || type === "recovery" || type === "threshold" || type === "resolved";
}

/** The ids of the newest events that a notification tells of. */
export function newestIdsOf(notification: Notification): string[] {
  return "newestIds" in notification ? notification.newestIds : [];
}

/** The message of a notification, except for digests by email and reports. */
export function messageOfNotification(
  notification: Exclude<Notification, { type: "email-digest" | "report" }>,
  told: ToldEvents,
  about: About,
): Message {
  if ("title" in notification) return messageOfNotice(notification, about);
  if (notification.type !== "event") return messageOverTime(notification, told, about);
  const { baseUrl, project, ruleId, ruleName = null, alert = null } = about;
  const event = told.event!;
  const message = messageOfEvent(event, {
    ...about,
    rule: ruleId === null || ruleName === null ? null : { id: ruleId, name: ruleName },
    url: `${baseUrl}/p/${project.slug}/events/${event.id}`,
  });
  if (alert === null || !message.rule) return message;
  return { ...message, thread: threadOf(message.rule.id, alert.id), alert: actionsOf(alert) };
}

/** The message that tells what a rule over time found. Its `event` is the one by which it was met, if there is one. */
function messageOverTime(
  notification: OverTime,
  { event, newest }: ToldEvents,
  { id, baseUrl, project, ruleId, urgent, alert = null }: About,
): Message {
  const { type, atMs, rule } = notification;
  const range = rangeOf(notification);
  const about = {
    id,
    project,
    rule: ruleId === null ? null : { id: ruleId, name: rule.name },
    url: urlOf(`${baseUrl}/p/${project.slug}`, notification, ruleId),
  };
  const shown = tellsOfEvent(notification) ? event : type === "digest" ? null : (newest[0] ?? null);
  return {
    ...about,
    type,
    title: titleOfNotification(notification),
    icon: isEnd(type) ? "✅" : type === "rule-test" ? "🔔" : null,
    text: textOfNotification(notification),
    fields: shown ? fieldsOfEvent(shown) : [],
    ...("when" in notification && { metric: metricOf(notification) }),
    matches: range && { count: range.count, from: isoOf(range.fromMs), to: isoOf(atMs) },
    event: tellsOfEvent(notification) ? event : null,
    newest: tellsOfEvent(notification) && event ? [event] : newest,
    // That something works again is no alarm.
    urgent: urgent && !isEnd(type),
    thread: ruleId === null ? null : threadOfNotification(notification, ruleId, alert),
    ...(alert && !isEnd(type) && { alert: actionsOf(alert) }),
    createdAt: isoOf(atMs),
  };
}

function actionsOf({ id: _, ...actions }: NonNullable<About["alert"]>): NonNullable<Message["alert"]> {
  return actions;
}

function metricOf({ value, when, atMs }: ReadMetric & { atMs: number }): Message["metric"] & object {
  return { value, from: isoOf(atMs - when.minutes * minuteMs), to: isoOf(atMs) };
}

/** Whether a message tells that something works again. */
function isEnd(type: Notification["type"]): boolean {
  return type === "recovery" || type === "metric-recovery" || type === "resolved";
}

/** The title of the alert that a match opens. It keeps nothing of the event, which may be deleted. */
export function titleOfMatch(rule: { name: string; q: string }, notification: ToldNotification): string {
  return notification.type === "event" ? rule.name : titleOfNotification({ ...notification, rule });
}

function textOfNotification(notification: OverTime): string | null {
  if ("groups" in notification) return listOf(notification);
  if ("when" in notification) return escapeMarkdown(textOfMetric(notification));
  if (notification.type === "group") return namesOf(notification);
  if (notification.type !== "rule-test") return null;
  return escapeMarkdown(
    `${notification.by} tries the rule. This is where its messages come, and nothing has happened.`,
  );
}

function threadOfNotification(
  notification: OverTime,
  ruleId: string,
  alert: { id: string } | null,
): string | null {
  if (alert !== null) return threadOf(ruleId, alert.id);
  switch (notification.type) {
    case "summary":
      return threadOf(ruleId, notification.firstId);
    case "silence":
      return threadOf(ruleId, notification.sinceMs);
    case "recovery":
      return threadOf(ruleId, notification.atMs - notification.afterMs);
    default:
      return null;
  }
}

/**
 * The message of the event that began a burst, with what a summary says of the others: what it is updated to where
 * messages can be.
 *
 * Invariant: the first message of a burst and its summaries are one message where the service can update it, and a
 * thread in email. Checked by `server/notifications/project-deliveries.test.ts` and
 * `server/notifications/email.test.ts`.
 *
 * @param summary - the summary's own message
 */
export function growMessage(
  first: Message,
  { total, count, fromMs, atMs, groups }: Extract<Notification, { type: "summary" }>,
  summary: Message,
): Message {
  const others = `${numberOf(count)} more in ${formatDuration(atMs - fromMs)}`;
  const more = groups.length > 1 ? `${others}:\n\n${summary.text}` : `${others}.`;
  return {
    ...summary,
    title: `${first.title} × ${numberOf(total)}`,
    icon: first.icon,
    text: [first.text ?? "", more].filter((part) => part.trim() !== "").join("\n\n"),
    fields: first.fields,
    event: first.event,
    createdAt: first.createdAt,
  };
}

function messageOfNotice(notice: MemberNotice, { id, baseUrl, project }: About): Message {
  const { type, title, detail, atMs } = notice;
  // It is about the server, not about the project whose delivery it is.
  const host = type === "server-notice" ? URL.parse(baseUrl)?.host : undefined;
  return {
    id,
    type,
    title,
    icon: null,
    text: escapeMarkdown(detail),
    fields: [],
    url: `${baseUrl}${pathOfNotice(notice, project.slug)}`,
    project: { ...project, name: host ?? project.name },
    rule: null,
    matches: null,
    event: null,
    newest: [],
    thread: null,
    createdAt: isoOf(atMs),
    urgent: type === "delivery-dead",
  };
}

function pathOfNotice(notice: MemberNotice, slug: string): string {
  const deliveriesPath = (filter: Record<string, string>) =>
    `/p/${slug}/deliveries?${new URLSearchParams(filter)}`;
  switch (notice.type) {
    case "server-notice":
      return "/status";
    case "destination-off":
      return `/p/${slug}/destinations`;
    case "rule-failing":
      return `/p/${slug}/rules/${notice.rule.id}`;
    case "on-call":
      return `/p/${slug}/on-call`;
    case "delivery-dead":
      return deliveriesPath({ state: "dead", to: notice.destination.id });
    case "messages-held": {
      const { accountId, destination } = notice;
      return deliveriesPath({
        state: "skipped",
        ...(accountId === null ? { to: destination.id } : { account: accountId }),
      });
    }
  }
}

export function titleOfNotification(notification: OverTime | MemberNotice): string {
  if ("title" in notification) return notification.title;
  const { alerts = 0, rule } = notification;
  const { name } = rule;
  switch (notification.type) {
    case "summary":
      return `${name}: ${numberOf(notification.count)} more in ${formatDuration(notification.atMs - notification.fromMs)}`;
    case "digest":
      return `${name}: ${numberOf(notification.count)} ${notification.count === 1 ? "event" : "events"}`;
    case "silence":
      return `No event for ${formatDuration(notification.atMs - notification.sinceMs)}: ${name}`;
    case "rule-test":
      return `Test: ${name}`;
    case "resolved":
      if (alerts) return `All ${numberOf(alerts)} alerts are over: ${name}`;
      return `Resolved after ${formatDuration(notification.atMs - notification.sinceMs)}: ${name}`;
    case "group":
      return alerts === 1 ? `1 more alert: ${name}` : `${numberOf(alerts)} more alerts: ${name}`;
    case "reminder": {
      const still = `still open after ${formatDuration(notification.atMs - notification.sinceMs)}: ${name}`;
      return alerts ? `${numberOf(alerts)} alerts are ${still}` : `S${still.slice(1)}`;
    }
    case "recovery":
      if (alerts) return `All ${numberOf(alerts)} alerts are over: ${name}`;
      return `Again after ${formatDuration(notification.afterMs)}: ${name}`;
    case "metric":
    case "metric-recovery":
      return `${titleOfMetric(notification)}: ${name}`;
    // It is the first event above the threshold.
    case "threshold":
      return `More than ${numberOf(notification.count - 1)} in ${formatDuration(notification.minutes * minuteMs)}: ${name}`;
  }
}

function rangeOf(notification: OverTime): { count: number; fromMs: number; toMs: number } | null {
  switch (notification.type) {
    case "summary":
    case "digest":
      return { count: notification.count, fromMs: notification.fromMs, toMs: notification.atMs };
    case "threshold": {
      const { count, atMs, minutes } = notification;
      // Including the last event: the end of a search is exclusive.
      return { count, fromMs: atMs - minutes * minuteMs, toMs: atMs + 1 };
    }
    default:
      return null;
  }
}

/** The values whose alerts were collected, as a list. */
function namesOf({ values, alerts = 0 }: Extract<OverTime, { type: "group" }>): string {
  const others = alerts - values.length;
  const lines = values.map((value) => `- ${escapeMarkdown(value)}`);
  return [...lines, ...(others > 0 ? [`- others: ${numberOf(others)}`] : [])].join("\n");
}

/** Events by name and channel, as a list. Null if there is nothing to compare. */
function listOf({ type, count, groups }: Extract<Notification, { groups: EventGroup[] }>): string | null {
  if (type === "summary" && groups.length < 2) return null;
  const lines = groups.map(
    (group) =>
      `- **${escapeMarkdown(group.name)}** in ${escapeMarkdown(group.channel)}: ${numberOf(group.count)}`,
  );
  const others = count - groups.reduce((sum, group) => sum + group.count, 0);
  return [...lines, ...(others > 0 ? [`- others: ${numberOf(others)}`] : [])].join("\n");
}

/** The page that a message leads to: its events, or the line of its metric. */
function urlOf(base: string, notification: OverTime, ruleId: string | null): string {
  if ("when" in notification && ruleId !== null) return `${base}/rules/${ruleId}`;
  return searchUrl(base, notification.rule.q, rangeOf(notification));
}

function searchUrl(base: string, q: string, range: { fromMs: number; toMs: number } | null): string {
  const search = new URLSearchParams({
    ...(q !== "" && { q }),
    ...(range && { from: isoOf(range.fromMs), to: isoOf(range.toMs) }),
  });
  return search.size > 0 ? `${base}?${search}` : base;
}

function numberOf(count: number): string {
  return count.toLocaleString("en");
}
