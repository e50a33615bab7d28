import { type Event, isBackdated } from "../event/event.ts";
import { ruleMatcher } from "../rules/rule-matcher.ts";
import type { Explanation } from "../wire/delivery.ts";
import type { Rule } from "../wire/rule.ts";

/** A delivery of the event itself. */
type OwnDelivery = { accountId: string | null; destinationId: string | null };
/** A summary or digest of a rule, the event on whose page it is listed, and the time that it covers. */
export type Folded = { id: string; ruleId: string; eventId: string | null; fromMs: number; toMs: number };
export type Person = {
  accountId: string;
  name: string;
  joinedMs: number;
  destinations: { id: string; kind: string; label: string; enabled: boolean; createdMs: number }[];
  /** Of the ids of destinations, those that want all events of the channel. */
  follows: ReadonlySet<string>;
};

/** What is known about an event when somebody asks why it was not delivered. Times are milliseconds since 1970. */
export type Known = {
  event: Event;
  arrivedMs: number;
  nowMs: number;
  /** How long deliveries are kept. */
  deliveryDays: number;
  /** As they are now. */
  rules: readonly Rule[];
  deliveries: readonly OwnDelivery[];
  folded: readonly Folded[];
  people: readonly Person[];
  isEmailAvailable: boolean;
};

const dayMs = 24 * 60 * 60 * 1_000;

/**
 * Says why members, and their destinations, have no delivery of an event. What members chose themselves is not in it:
 * that is stored with the deliveries that it skipped. Rules are as they are now, because their changes are not kept.
 */
export function explain(known: Known): Explanation[] {
  const { event, arrivedMs, nowMs, deliveryDays, deliveries, people } = known;
  if (deliveries.length === 0 && nowMs - arrivedMs > deliveryDays * dayMs) {
    return [forAll("expired", `The delivery log has expired: it is kept for ${deliveryDays} days.`)];
  }
  if (isBackdated(Date.parse(event.createdAt), arrivedMs)) {
    return [forAll("backdated", "The event was more than an hour old when it arrived.")];
  }
  const rules = known.rules.filter(
    (rule) => rule.enabled && Date.parse(rule.createdAt) <= arrivedMs && ruleMatcher(rule)(event),
  );
  const isForNobody = rules.length === 0 && deliveries.length === 0;
  if (isForNobody && people.every(({ follows }) => follows.size === 0)) {
    return [
      event.notify
        ? forAll("no-rule", "No active rule matches it.")
        : forAll("no-flag", 'It was sent without "notify", and no other active rule matches it.'),
    ];
  }
  return people.flatMap((person) => explainPerson(known, rules, person));
}

/** Why an event has no deliveries at all, as a sentence. */
export function explainNoDelivery(event: Event, deliveryDays: number): string {
  if (!event.notify)
    return 'Nobody was notified: the event was sent without "notify", and no other rule matches it.';
  if (Date.now() - Date.parse(event.createdAt) > deliveryDays * dayMs)
    return `The delivery log has expired: it is kept for ${deliveryDays} days.`;
  return "Nobody was notified: the event was more than an hour old when it arrived, or no active rule matched it.";
}

function explainPerson(known: Known, rules: readonly Rule[], person: Person): Explanation[] {
  const { accountId, name, joinedMs, destinations, follows } = person;
  const has = new Set(
    known.deliveries.filter((each) => each.accountId === accountId).map(({ destinationId }) => destinationId),
  );
  const all = (reason: Explanation["reason"], detail: string, into?: Folded) => [
    {
      account: name,
      kind: null,
      label: null,
      reason,
      detail,
      delivery: into?.id ?? null,
      event: into?.eventId ?? null,
    },
  ];
  if (has.size === 0) {
    if (joinedMs > known.arrivedMs)
      return all("not-a-member-then", "Joined the project after the event arrived.");
    const own = rules.filter(({ to }) => to.everyone || to.members.includes(accountId));
    if (own.length === 0 && follows.size > 0)
      return all(
        "too-many",
        "More events arrived in that second than are sent to members who want all events.",
      );
    if (own.length === 0) return all("no-rule", "No rule that matches it names this member.");
    const folding = own.find((rule) => rule.when.type !== "each");
    if (folding && own.every((rule) => rule.when.type !== "each"))
      return all(...explainFolding(known, folding));
  }
  const missing = destinations.filter(({ id }) => !has.has(id));
  const ofDestinations = missing.flatMap(({ kind, label, ...destination }): Explanation[] => {
    const found = explainDestination(known, { kind, ...destination });
    return found ? [{ account: name, kind, label, ...found, delivery: null, event: null }] : [];
  });
  const hasDevice = destinations.some(({ kind }) => kind === "browser");
  return hasDevice
    ? ofDestinations
    : [
        ...ofDestinations,
        {
          account: name,
          kind: "browser",
          label: null,
          reason: "no-device",
          detail: "Has not turned on push notifications in any browser.",
          delivery: null,
          event: null,
        },
      ];
}

function explainDestination(
  { arrivedMs, isEmailAvailable }: Known,
  { kind, enabled, createdMs }: Omit<Person["destinations"][number], "id" | "label">,
): Pick<Explanation, "reason" | "detail"> | null {
  if (kind === "email" && !isEmailAvailable)
    return { reason: "email-unavailable", detail: "Email is not configured on this server." };
  if (!enabled) return { reason: "off", detail: "It is turned off." };
  if (createdMs > arrivedMs)
    return { reason: "added-later", detail: "It was added after the event arrived." };
  return null;
}

/** Why a rule that matches the event did not notify of it at once, and what it was folded into. */
function explainFolding(
  { folded, arrivedMs }: Known,
  { id, name, when }: Rule,
): [reason: Explanation["reason"], detail: string, into?: Folded] {
  const into = folded.find(
    ({ ruleId, fromMs, toMs }) => ruleId === id && fromMs <= arrivedMs && arrivedMs <= toMs,
  );
  switch (when.type) {
    case "burst":
      return [
        "burst",
        `"${name}" had already alerted on an earlier event, so this one ${into ? "is counted in" : "will be counted in"} a summary.`,
        into,
      ];
    case "digest":
      return ["rule-digest", `"${name}" ${into ? "put it into" : "collects it for"} a digest.`, into];
    case "silence":
      return ["rule-not-met", `"${name}" notifies if no event comes, and this one came.`];
    case "count":
      return ["rule-not-met", `"${name}" notifies if there are more than ${when.above}.`];
    case "number":
      return ["rule-not-met", `"${name}" notifies if the tag "${when.tag}" is above ${when.above}.`];
    default:
      return ["no-rule", `"${name}" did not alert on it.`];
  }
}

function forAll(reason: Explanation["reason"], detail: string): Explanation {
  return { account: null, kind: null, label: null, reason, detail, delivery: null, event: null };
}
