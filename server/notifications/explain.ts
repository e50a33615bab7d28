import { type Event, isBackdated } from "../event/event.ts";
import { valueOfEvent } from "../rules/for-each.ts";
import { minuteMs } from "../rules/rule-kind.ts";
import { type RuleSearches, resolveMatcher, ruleMatcher } from "../rules/rule-matcher.ts";
import type { Explanation } from "../schemas/delivery.ts";
import type { Rule } from "../schemas/rule.ts";
import { formatDuration } from "./format-duration.ts";
import type { OnCallRecipients } from "./on-call-recipients.ts";

/** A delivery of the event itself. */
type OwnDelivery = { accountId: string | null; destinationId: string | null };
/** A summary or digest of a rule, the event on whose page it is listed, and the time that it covers. */
export type Folded = { id: string; ruleId: string; eventId: string | null; fromMs: number; toMs: number };
/**
 * A rule whose alert, or that of its value, notified nobody of further matches: somebody looked after it, or null if
 * that was done without a name; or it was to be told with others of its group.
 */
export type QuietAlert = { ruleId: string; value: string } & (
  | { why: "acknowledged"; by: string | null }
  | { why: "grouped" }
);
export type Person = {
  accountId: string;
  name: string;
  joinedMs: number;
  destinations: { id: string; kind: string; label: string; enabled: boolean; createdMs: number }[];
  /** Of the ids of destinations, those that want all events of the channel. */
  follows: ReadonlySet<string>;
};

/** A destination of the project. */
export type KnownDestination = {
  id: string;
  kind: string;
  name: string;
  enabled: boolean;
  createdMs: number;
};

/** The facts about an event that explain why it was not delivered. Times are milliseconds since 1970. */
export type Known = {
  event: Event;
  arrivedMs: number;
  nowMs: number;
  /** How long deliveries are kept. */
  deliveryDays: number;
  /** As they are now. */
  rules: readonly Rule[];
  /** The searches of a rule, which find the events of all IDs of the people whom they name. */
  searchOf: (rule: Rule) => RuleSearches;
  /** The main ID of the event's user, if it is joined to another one. */
  persons: ReadonlyMap<string, string>;
  deliveries: readonly OwnDelivery[];
  folded: readonly Folded[];
  quiet: readonly QuietAlert[];
  people: readonly Person[];
  /** As it was when the event arrived, by the schedules of now. */
  onCall: Pick<OnCallRecipients, "reasonFor">;
  projectDestinations: readonly KnownDestination[];
  isEmailAvailable: boolean;
};

const dayMs = 24 * 60 * 60 * 1_000;

/**
 * Says why members, their destinations, and those of the project have no delivery of an event. What members chose
 * themselves is not in it: that is stored with the deliveries that it skipped. Rules are as they are now, because their
 * changes are not kept.
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
    (rule) =>
      rule.enabled &&
      Date.parse(rule.createdAt) <= arrivedMs &&
      (ruleMatcher(known.searchOf(rule))(event) || isEnd(known, rule)),
  );
  const isForNobody = rules.length === 0 && deliveries.length === 0;
  if (isForNobody && people.every(({ follows }) => follows.size === 0)) {
    return [
      event.notify
        ? forAll("no-rule", "No active rule matches it.")
        : forAll("no-flag", 'It was sent without "notify", and no other active rule matches it.'),
    ];
  }
  return [
    ...people.flatMap((person) => explainPerson(known, rules, person)),
    ...known.projectDestinations.flatMap((each) => explainProjectDestination(known, rules, each)),
  ];
}

/** Why an event has no deliveries at all, in a sentence or two, from the explanations. */
export function explainNoDelivery(explanations: readonly Explanation[]): string {
  const ofAll = explanations.find(({ account, kind }) => account === null && kind === null);
  if (ofAll?.reason === "expired") return ofAll.detail;
  if (ofAll) return `Nobody was notified. ${ofAll.detail}`;
  const ofRule = explanations.find(({ rule }) => rule !== null);
  if (ofRule) return `Nobody was notified of this event by itself. ${ofRule.detail}`;
  return "Nobody was notified. The rules that match it reach nobody.";
}

function explainPerson(known: Known, rules: readonly Rule[], person: Person): Explanation[] {
  const { accountId, name, joinedMs, destinations, follows } = person;
  const has = new Set(
    known.deliveries.filter((each) => each.accountId === accountId).map(({ destinationId }) => destinationId),
  );
  const all = (reason: Explanation["reason"], detail: string) => [
    { ...forAll(reason, detail), account: name },
  ];
  if (has.size === 0) {
    if (joinedMs > known.arrivedMs)
      return all("not-a-member-then", "Joined the project after the event arrived.");
    const own = rules.filter(
      (rule) =>
        rule.to.everyone ||
        rule.to.members.includes(accountId) ||
        known.onCall.reasonFor(rule, accountId) !== null,
    );
    if (own.length === 0 && follows.size > 0)
      return all(
        "too-many",
        "More events arrived in that second than are sent to members who want all events.",
      );
    const ofOthers = own.length === 0 ? rules.find(({ to }) => to.schedules.length > 0) : undefined;
    if (ofOthers)
      return all(
        "not-on-call",
        `"${ofOthers.name}" notifies whoever is on call, which was somebody else then.`,
      );
    if (own.length === 0) return all("no-rule", "No rule that matches it names this member.");
    const folding = foldingOf(known, own);
    if (folding) return [{ ...explainFolding(known, folding), account: name }];
  }
  const missing = destinations.filter(({ id }) => !has.has(id));
  const ofDestinations = missing.flatMap(({ kind, label, ...destination }): Explanation[] => {
    const found = explainDestination(known, { kind, ...destination });
    return found ? [{ ...forAll(found.reason, found.detail), account: name, kind, label }] : [];
  });
  const hasDevice = destinations.some(({ kind }) => kind === "browser");
  return hasDevice
    ? ofDestinations
    : [
        ...ofDestinations,
        {
          ...forAll("no-device", "Has not turned on push notifications in any browser."),
          account: name,
          kind: "browser",
        },
      ];
}

function explainProjectDestination(
  known: Known,
  rules: readonly Rule[],
  destination: KnownDestination,
): Explanation[] {
  const { id, kind, name, enabled, createdMs } = destination;
  const { deliveries, arrivedMs } = known;
  if (deliveries.some(({ accountId, destinationId }) => accountId === null && destinationId === id))
    return [];
  const about = { kind, label: name, destination: id };
  const one = (reason: Explanation["reason"], detail: string) => [{ ...forAll(reason, detail), ...about }];
  if (createdMs > arrivedMs) return one("added-later", "It was added after the event arrived.");
  if (!enabled) return one("off", "It is turned off.");
  const own = rules.filter(({ to }) => to.destinations.includes(id));
  if (own.length === 0) return one("no-rule", "No rule that matches the event names it.");
  const folding = foldingOf(known, own);
  if (folding) return [{ ...explainFolding(known, folding), ...about }];
  return one("off", "It was off, or the rule did not name it, when the event arrived.");
}

/** A rule that doesn't tell of the event by itself, if none of these does. */
function foldingOf(known: Known, rules: readonly Rule[]): Rule | undefined {
  const tells = (rule: Rule) =>
    rule.when.type === "each" &&
    valueIn(known, rule) !== null &&
    !isEnd(known, rule) &&
    !quietOf(known, rule);
  return rules.some(tells) ? undefined : rules[0];
}

/** The value of the event for a rule that follows each; empty for one that takes all together. Null if it has none. */
function valueIn({ event, persons }: Pick<Known, "event" | "persons">, { forEach }: Rule): string | null {
  return forEach === null ? "" : valueOfEvent(forEach, event, persons);
}

function quietOf(known: Known, rule: Rule): QuietAlert | undefined {
  const value = valueIn(known, rule);
  return known.quiet.find((alert) => alert.ruleId === rule.id && alert.value === value);
}

/** Whether the event ends the rule's alert, and so is no match. For a silence, it is a match as well. */
function isEnd({ event, searchOf }: Known, rule: Rule): boolean {
  return rule.when.type !== "silence" && resolveMatcher(searchOf(rule))(event);
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

/** Why a rule that matches the event did not alert on it at once, and what it was folded into. */
function explainFolding(known: Known, rule: Rule): Explanation {
  const { folded, arrivedMs } = known;
  const { id, name, when, forEach } = rule;
  const into = folded.find(
    ({ ruleId, fromMs, toMs }) => ruleId === id && fromMs <= arrivedMs && arrivedMs <= toMs,
  );
  const because = (reason: Explanation["reason"], detail: string) => ({
    ...forAll(reason, detail),
    rule: { id, name },
    delivery: into?.id ?? null,
    event: into?.eventId ?? null,
  });
  if (valueIn(known, rule) === null)
    return because(
      "rule-not-met",
      `"${name}" follows each ${forEach!.replace(/^tag\./, "value of the tag ")}, and the event has none.`,
    );
  if (isEnd(known, rule)) return because("alert-end", `"${name}" takes it as the end of its alert.`);
  const quiet = quietOf(known, rule);
  if (quiet?.why === "grouped")
    return because("alert-grouped", `"${name}" tells of its alert together with others of the group.`);
  if (quiet)
    return because(
      "alert-acknowledged",
      `"${name}" counted it on its alert, and notifies nobody while ${quiet.by ?? "somebody"} looks after that.`,
    );
  switch (when.type) {
    case "burst":
      return because(
        "burst",
        `"${name}" had already alerted on an earlier event, so this one ${into ? "is counted in" : "will be counted in"} a summary.`,
      );
    case "digest":
      return because("rule-digest", `"${name}" ${into ? "put it into" : "collects it for"} a digest.`);
    case "silence":
      return because("rule-not-met", `"${name}" notifies if no event comes, and this one came.`);
    case "count":
      return because(
        "rule-not-met",
        `"${name}" counted it, and notifies if there are more than ${when.above} in ${formatDuration(when.minutes * minuteMs)}.`,
      );
    case "metric":
      return because("rule-not-met", `"${name}" measures it with others, and notifies by the result.`);
    case "number":
      return because(
        "rule-not-met",
        `"${name}" notifies if the tag "${when.tag}" is above ${when.above}${tagText(known.event, when.tag)}.`,
      );
    default:
      return because("no-rule", `"${name}" did not alert on it.`);
  }
}

function tagText({ tags }: Event, tag: string): string {
  return Object.hasOwn(tags, tag)
    ? `, and it is ${JSON.stringify(tags[tag])}`
    : ", and the event has no such tag";
}

function forAll(reason: Explanation["reason"], detail: string): Explanation {
  return {
    account: null,
    kind: null,
    label: null,
    destination: null,
    rule: null,
    reason,
    detail,
    delivery: null,
    event: null,
  };
}
