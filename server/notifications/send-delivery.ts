import type { Kysely } from "kysely";
import type { Event } from "../event/event.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Delivery, Target } from "./delivery-targets.ts";
import { kindOf, openSettings } from "./destination-settings.ts";
import { messageOfEmailDigest } from "./email-digest.ts";
import { type AccountMessage, type Message, messageOfEvent } from "./message.ts";
import { messageIdOf } from "./message-id.ts";
import {
  growMessage,
  isOwnerNotice,
  messageOfNotification,
  messageOfOwnerNotice,
  newestIdsOf,
  type OwnerNotice,
  readStoredContent,
  type StoredEmailDigest,
  type StoredNotification,
  type ToldEvents,
  tellsOfEvent,
} from "./notification-message.ts";
import type { OutboundPolicy } from "./outbound.ts";
import { readSettings } from "./preferences.ts";
import type { RecentEvents } from "./recent-events.ts";
import type { Outcome, Transports } from "./transport.ts";
import type { UnsubscribeLinks } from "./unsubscribe.ts";

/** The outcome of an attempt, and whether the destination had a part in it. */
export type Attempt = { outcome: Outcome; wasCalled: boolean };

export type SendDeps = {
  control: Kysely<ControlTables>;
  events: Pick<RecentEvents, "find">;
  /** The transport for each kind of destination. A missing one is not configured. */
  transports: Transports;
  /** For the settings of projects' destinations. */
  secrets: SecretBox;
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
  const notification = readStoredContent(delivery.notification);
  if (notification?.type === "email-digest") return sendDigest(deps, delivery, target, notification);
  if (!event && tellsOfEvent(notification)) return notCalled("The event was deleted.");
  const newest = await findNewest(deps.events, delivery.projectId, newestIdsOf(notification));
  const message = messageOf(deps, delivery, target, notification, { event, newest });
  const isSummary = notification?.type === "summary";
  const first =
    isSummary && event
      ? (messageOf(deps, delivery, target, null, { event, newest: [] }) as Message)
      : undefined;
  if (delivery.accountId !== null)
    return sendToAccount(deps, delivery, target, { ...message, ...(first && { first }) });
  // Owners' notices go to accounts.
  const ofProject = message as Message;
  const update = first && isSummary ? growMessage(first, notification, ofProject) : ofProject;
  return sendToProject(deps, delivery, target, ofProject, update);
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

async function sendDigest(
  deps: SendDeps,
  delivery: Delivery,
  target: Target,
  digest: StoredEmailDigest,
): Promise<Attempt> {
  const { control, events, baseUrl, installationId } = deps;
  const { accountId } = delivery;
  const { slug, name } = target;
  const message = await messageOfEmailDigest(control, (row) => findEvent(events, row), digest, {
    id: messageIdOf(installationId, delivery),
    digestId: delivery.id,
    project: { slug, name },
    accountId: accountId!,
    baseUrl,
  });
  if (!message) return notCalled("Everything in it was deleted.");
  return sendToAccount(deps, delivery, target, message);
}

async function sendToAccount(
  { control, transports, unsubscribeLinks }: SendDeps,
  { kind, projectId, accountId }: Delivery,
  { role, address, secret, unsubscribedAt, emailVerified }: Target,
  message: AccountMessage,
): Promise<Attempt> {
  const send = kind === "dashboard" ? undefined : transports[kind as keyof Transports];
  if (!send) return notCalled(`Notifications by ${kind} are not configured.`);
  if (role === null) return notCalled("The account is no longer a member of the project.");
  if (address === null) return notCalled("The destination was removed.");
  if (kind !== "email") return { outcome: await send({ message, address, secret }), wasCalled: true };
  if (unsubscribedAt !== null) return notCalled("The account unsubscribed before this was sent.");
  if (emailVerified !== 1) return notCalled("Nobody has confirmed the account's email address.");
  const unsubscribeUrl = unsubscribeLinks.url({ projectId, accountId: accountId! });
  const { timeZone } = await readSettings(control, accountId!);
  return { outcome: await send({ message, address, secret, unsubscribeUrl, timeZone }), wasCalled: true };
}

/** @param update - what an earlier message of the same burst is updated to, where messages can be */
async function sendToProject(
  { control, policy, secrets, now }: SendDeps,
  delivery: Delivery,
  { settings }: Target,
  message: Message,
  update: Message,
): Promise<Attempt> {
  const { kind, destinationId } = delivery;
  if (settings === null || destinationId === null)
    return notCalled("The destination was deleted or turned off.");
  const previous = message.type === "summary" ? await findPrevious(control, delivery) : null;
  const outcome = await kindOf({ kind }).send(
    previous === null ? message : update,
    openSettings({ id: destinationId, settings }, secrets),
    { policy, nowMs: now(), ...(previous !== null && { previous }) },
  );
  return { outcome, wasCalled: true };
}

function messageOf(
  { baseUrl, installationId }: SendDeps,
  delivery: Delivery,
  { slug, name, ruleName, urgent }: Target,
  notification: StoredNotification | OwnerNotice | null,
  told: ToldEvents,
): AccountMessage {
  const { ruleId } = delivery;
  const id = messageIdOf(installationId, delivery);
  const about = { id, project: { slug, name }, urgent: urgent === 1 };
  if (isOwnerNotice(notification)) return messageOfOwnerNotice(notification, { ...about, baseUrl });
  if (notification) return messageOfNotification(notification, told, { ...about, baseUrl, ruleId });
  const rule = ruleId === null || ruleName === null ? null : { id: ruleId, name: ruleName };
  const event = told.event!;
  return messageOfEvent(event, { ...about, rule, url: `${baseUrl}/p/${slug}/events/${event.id}` });
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
