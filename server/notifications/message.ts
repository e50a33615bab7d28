import type { Event } from "../event/event.ts";
import type { ToldNotification } from "../rules/rule-kind.ts";
import type { ReportContent } from "./report-content.ts";

/** The content of a notification, for every kind of destination. */
export type Message = {
  /** Constant over all attempts of a delivery; receivers use it to drop repetitions. Without full stops. */
  id: string;
  /**
   * `event` tells of one event, `test` tries the destination, `messages-held` tells of its limit, the others come from
   * rules over time and reports.
   */
  type: ToldNotification["type"] | "test" | "messages-held" | "report" | AccountMessageType;
  /** One line of plain text. */
  title: string;
  /** An emoji; null if there is none, or if the event's icon is a file name. */
  icon: string | null;
  /** Markdown. */
  text: string | null;
  /** Shown in this order: channel, user, tags. */
  fields: { name: string; value: string }[];
  /** Absolute URL of the event, or of the search for what the message tells of. */
  url: string;
  project: { slug: string; name: string };
  /** The rule that it comes from; null for a test. */
  rule: { id: string; name: string } | null;
  /** The matches of a rule over time, and their period (ISO 8601); null for the other types. */
  matches: { count: number; from: string; to: string } | null;
  /** The event that it tells of, or by which a rule over time was met; null if there is none. */
  event: Event | null;
  /** Of the events that a rule over time counted or collected, or the last one before a silence, the newest first. */
  newest: readonly Event[];
  /** The same for messages that belong together: a burst and its summaries, a silence and its end. Null for others. */
  thread: string | null;
  /** When that happened, in ISO 8601. */
  createdAt: string;
  urgent: boolean;
  /**
   * The link by which its recipient acknowledges or resolves the open alert that it tells of, and what buttons that do
   * so in a chat need: their token, and the address below which services post clicks.
   */
  alert?: { url: string; buttons?: { token: string; interactionsUrl: string } };
  /** The value of a rule's metric, and the time in which it was measured (ISO 8601). */
  metric?: { value: number | null; from: string; to: string };
  /** What a digest by email lists. */
  digest?: Digest;
  /** The content of a report. */
  report?: ReportContent;
  /** The message of the event that began the burst of a summary. */
  first?: Message;
};

/**
 * Owners are also told about the destinations of their projects and about the server, members when they come on call.
 */
export type AccountMessageType =
  | "destination-off"
  | "delivery-dead"
  | "rule-failing"
  | "server-notice"
  | "on-call"
  | "email-digest";

/** The items of a digest by email, the newest first. `others` are too many to list. Times are as people read them. */
export type Digest = { items: DigestItem[]; others: number; at: string };
export type DigestItem = { title: string; about: string; at: string; url: string };

/** The message that tells of one event. */
export function messageOfEvent(
  event: Event,
  { id, url, project, rule, urgent }: Pick<Message, "id" | "url" | "project" | "rule" | "urgent">,
): Message {
  return {
    id,
    url,
    project,
    rule,
    urgent,
    type: "event",
    title: event.name,
    icon: emojiOf(event),
    text: event.description ?? null,
    fields: fieldsOfEvent(event),
    matches: null,
    event,
    newest: [],
    thread: rule && threadOf(rule.id, event.id),
    createdAt: event.createdAt,
  };
}

/** The thread of what a rule tells. @param began - with which event, or when */
export function threadOf(ruleId: string, began: string | number): string {
  return `${ruleId}.${began}`;
}

/** The fields of an event besides its name and description. */
export function fieldsOfEvent({ channelId, userId, tags }: Event): Message["fields"] {
  return [
    { name: "Channel", value: channelId },
    ...(userId === "" ? [] : [{ name: "User", value: userId }]),
    ...Object.entries(tags).map(([name, value]) => ({ name, value })),
  ];
}

/** An event's icon if it is an emoji. Icons can also be file names or longer texts, which are not shown. */
function emojiOf({ icon = "" }: Event): string | null {
  const [first, second] = new Intl.Segmenter().segment(icon);
  const isEmoji =
    second === undefined &&
    /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3/u.test(first?.segment ?? "");
  return isEmoji ? icon : null;
}

/** Formats an ISO 8601 time with its zone. Without one, for people whose time zone is not known. */
export function formatTime(createdAt: string, timeZone = "UTC"): string {
  const time = new Intl.DateTimeFormat("en", {
    year: "numeric",
    month: "long",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZone,
    timeZoneName: "short",
  });
  return time.format(new Date(createdAt));
}

/** The same in short, without the zone. @param createdAt - ISO 8601, or milliseconds since 1970 */
export function formatShortTime(createdAt: string | number, timeZone = "UTC"): string {
  const time = new Intl.DateTimeFormat("en", {
    dateStyle: "medium",
    timeStyle: "short",
    timeZone,
    hourCycle: "h23",
  });
  return time.format(new Date(createdAt));
}
