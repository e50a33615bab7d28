import type { Kysely } from "kysely";
import type { AlertLinks } from "../alerts/alert-links.ts";
import type { Event } from "../event/event.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Delivery, Target } from "./delivery-targets.ts";
import { type Sending, sendTo } from "./destinations.ts";
import { messageOfEmailDigest } from "./email-digest.ts";
import type { Outcome } from "./kinds/kind.ts";
import type { Message } from "./message.ts";
import { messageIdOf } from "./message-id.ts";
import {
  growMessage,
  messageOfNotification,
  type Notification,
  newestIdsOf,
  type ReportNotification,
  readNotification,
  tellsOfEvent,
} from "./notification-message.ts";
import type { OutboundPolicy } from "./outbound.ts";
import type { RecentEvents } from "./recent-events.ts";
import type { ReportContent } from "./report-content.ts";
import { messageOfReport } from "./report-message.ts";
import type { UnsubscribeLinks } from "./unsubscribe.ts";

/** The content of a report, and its picture as PNG if the receiver takes files. */
export type RenderedReport = { content: ReportContent; picture: Uint8Array | null };

/** Computes and draws a report; null if it was deleted or turned off. */
export type ReportRenderer = (report: {
  projectId: number;
  notification: ReportNotification;
  /** The project's name. */
  project: string;
  takesPicture: boolean;
  nowMs: number;
}) => Promise<RenderedReport | null>;

/** For a message with a picture. With the time that computing takes, it is below the lease of a delivery. */
const reportTimeoutMs = 25_000;

export type SendDeps = Sending & {
  renderReport: ReportRenderer;
  control: Kysely<ControlTables>;
  events: Pick<RecentEvents, "find">;
  policy: OutboundPolicy;
  baseUrl: string;
  unsubscribeLinks: Pick<UnsubscribeLinks, "url">;
  alertLinks: Pick<AlertLinks, "url" | "buttonToken">;
  installationId: string;
  now: () => number;
};

/** Null if the delivery tells of no event, or the event was deleted. */
export async function findEvent(
  events: Pick<RecentEvents, "find">,
  { eventId, projectId, createdAt }: Pick<Delivery, "eventId" | "projectId" | "createdAt">,
): Promise<Event | null> {
  return eventId === null ? null : events.find(projectId, eventId, createdAt);
}

/** Sends a delivery once. Throws only for errors of the program and the storage. */
export async function sendDelivery(
  deps: SendDeps,
  delivery: Delivery,
  target: Target | undefined,
  pendingEvent: Promise<Event | null>,
): Promise<Outcome> {
  const event = await pendingEvent;
  if (!target) return notCalled("The delivery was removed.");
  const notification = readNotification(delivery.notification);
  if (!event && tellsOfEvent(notification)) return notCalled("The event was deleted.");
  const { destination, timeZone } = target;
  if ("refusal" in destination) return notCalled(destination.refusal);
  if (notification.type === "report") return sendReport(deps, delivery, target, destination, notification);
  const message = await messageOf(deps, delivery, target, notification, event);
  if (!message) return notCalled("Everything in it was deleted.");
  const { projectId, accountId } = delivery;
  const summary = notification.type === "summary" ? notification : null;
  const previous = summary && (await findPrevious(deps.control, delivery));
  const sent =
    summary && previous !== null && message.first ? growMessage(message.first, summary, message) : message;
  return sendTo(deps, destination, sent, {
    policy: deps.policy,
    nowMs: deps.now(),
    ...(previous !== null && { previous }),
    ...(accountId !== null && {
      reader: { timeZone, unsubscribeUrl: deps.unsubscribeLinks.url({ projectId, accountId }) },
    }),
  });
}

async function sendReport(
  deps: SendDeps,
  delivery: Delivery,
  { project }: Target,
  destination: Parameters<typeof sendTo>[1],
  notification: ReportNotification,
): Promise<Outcome> {
  const { projectId, accountId } = delivery;
  const rendered = await deps.renderReport({
    projectId,
    notification,
    project: project.name,
    takesPicture: deps.kinds.get(destination.kind)?.takesPictures ?? false,
    nowMs: deps.now(),
  });
  if (!rendered) return notCalled("The report was deleted or turned off.");
  const message = messageOfReport(rendered.content, {
    id: messageIdOf(deps.installationId, delivery),
    project,
    baseUrl: deps.baseUrl,
    atMs: notification.atMs,
  });
  const { report } = notification;
  return sendTo(deps, destination, message, {
    policy: deps.policy,
    nowMs: deps.now(),
    timeoutMs: reportTimeoutMs,
    picture: rendered.picture,
    ...(accountId !== null && {
      reader: { unsubscribeUrl: deps.unsubscribeLinks.url({ projectId, accountId, report }) },
    }),
  });
}

/** The message of a delivery; null if all that it tells of was deleted. */
async function messageOf(
  { control, events, baseUrl, installationId, alertLinks }: SendDeps,
  delivery: Delivery,
  { project, rule, timeZone }: Target,
  notification: Exclude<Notification, ReportNotification>,
  event: Event | null,
): Promise<Message | null> {
  const { projectId, ruleId, alertId, accountId, destinationId } = delivery;
  const alert =
    alertId === null || destinationId === null
      ? null
      : {
          id: alertId,
          url: alertLinks.url({ alertId, accountId, destinationId }),
          ...(accountId === null && {
            buttons: {
              token: alertLinks.buttonToken({ alertId, destinationId }),
              interactionsUrl: `${baseUrl}/interactions`,
            },
          }),
        };
  const id = messageIdOf(installationId, delivery);
  const urgent = rule?.urgent ?? false;
  const about = { id, project, baseUrl, ruleId, ruleName: rule?.name ?? null, urgent, alert };
  if (notification.type === "email-digest")
    return messageOfEmailDigest(control, (row) => findEvent(events, row), notification, {
      ...about,
      digestId: delivery.id,
      timeZone,
    });
  const told = { event, newest: await findNewest(events, projectId, newestIdsOf(notification)) };
  const message = messageOfNotification(notification, told, about);
  return notification.type === "summary" && event
    ? { ...message, first: messageOfNotification({ type: "event" }, told, about) }
    : message;
}

/** Leaves out those that were deleted. */
async function findNewest(
  events: SendDeps["events"],
  projectId: number,
  ids: readonly string[],
): Promise<Event[]> {
  const found = await Promise.all(ids.map((id) => events.find(projectId, id)));
  return found.filter((event) => event !== null);
}

/** Returns the receiver's reference to the message about the event that began the burst. */
async function findPrevious(
  control: Kysely<ControlTables>,
  { eventId, ruleId, destinationId }: Delivery,
): Promise<string | null> {
  const row = await control
    .selectFrom("deliveries")
    .select("reference")
    .where("eventId", "=", eventId)
    .where("ruleId", "=", ruleId)
    .where("destinationId", "=", destinationId)
    .where("reference", "is not", null)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return row?.reference ?? null;
}

/** The outcome of a delivery that can't be sent. */
function notCalled(detail: string): Outcome {
  return { kind: "failed", detail, wasCalled: false };
}
