import type { Kysely } from "kysely";
import type { Event } from "../event/event.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Delivery, Target } from "./delivery-targets.ts";
import { type Sending, sendTo } from "./destinations.ts";
import { messageOfEmailDigest } from "./email-digest.ts";
import type { Outcome } from "./kinds/kind.ts";
import { type Message, messageOfEvent } from "./message.ts";
import { messageIdOf } from "./message-id.ts";
import {
  growMessage,
  isOwnerNotice,
  messageOfNotification,
  messageOfOwnerNotice,
  newestIdsOf,
  readStoredContent,
  type StoredContent,
  tellsOfEvent,
} from "./notification-message.ts";
import type { OutboundPolicy } from "./outbound.ts";
import type { RecentEvents } from "./recent-events.ts";
import type { UnsubscribeLinks } from "./unsubscribe.ts";

/** The outcome of an attempt, and whether the destination had a part in it. */
export type Attempt = { outcome: Outcome; wasCalled: boolean };

export type SendDeps = Sending & {
  control: Kysely<ControlTables>;
  events: Pick<RecentEvents, "find">;
  policy: OutboundPolicy;
  baseUrl: string;
  unsubscribeLinks: Pick<UnsubscribeLinks, "url">;
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
): Promise<Attempt> {
  const event = await pendingEvent;
  if (!target) return notCalled("The delivery was removed.");
  const content = readStoredContent(delivery.notification);
  if (!event && tellsOfEvent(content)) return notCalled("The event was deleted.");
  const { destination, timeZone } = target;
  if ("refusal" in destination) return notCalled(destination.refusal);
  const message = await messageOf(deps, delivery, target, content, event);
  if (!message) return notCalled("Everything in it was deleted.");
  const { projectId, accountId } = delivery;
  const summary = content?.type === "summary" ? content : null;
  const previous = summary && (await findPrevious(deps.control, delivery));
  const sent =
    summary && previous !== null && message.first ? growMessage(message.first, summary, message) : message;
  const outcome = await sendTo(deps, destination, sent, {
    policy: deps.policy,
    nowMs: deps.now(),
    ...(previous !== null && { previous }),
    ...(accountId !== null && {
      reader: { timeZone, unsubscribeUrl: deps.unsubscribeLinks.url({ projectId, accountId }) },
    }),
  });
  return { outcome, wasCalled: true };
}

/** The message of a delivery; null if all that it tells of was deleted. */
async function messageOf(
  { control, events, baseUrl, installationId }: SendDeps,
  delivery: Delivery,
  { project, rule, timeZone }: Target,
  content: StoredContent | null,
  event: Event | null,
): Promise<Message | null> {
  const { ruleId } = delivery;
  const about = {
    id: messageIdOf(installationId, delivery),
    project,
    urgent: rule?.urgent ?? false,
    baseUrl,
  };
  if (isOwnerNotice(content)) return messageOfOwnerNotice(content, about);
  if (content?.type === "email-digest")
    return messageOfEmailDigest(control, (row) => findEvent(events, row), content, {
      ...about,
      digestId: delivery.id,
      timeZone,
    });
  const single =
    event &&
    messageOfEvent(event, {
      ...about,
      rule: ruleId === null || rule === null ? null : { id: ruleId, name: rule.name },
      url: `${baseUrl}/p/${project.slug}/events/${event.id}`,
    });
  if (content === null) return single;
  const newest = await findNewest(events, delivery.projectId, newestIdsOf(content));
  const message = messageOfNotification(content, { event, newest }, { ...about, ruleId });
  return content.type === "summary" && single ? { ...message, first: single } : message;
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
function notCalled(detail: string): Attempt {
  return { outcome: { kind: "failed", detail }, wasCalled: false };
}
