import type { ReactNode } from "react";
import type { ProjectDestination } from "../../server/schemas/destination.ts";
import type { Member } from "../../server/schemas/member.ts";
import type { OnCallSchedule } from "../../server/schemas/on-call.ts";
import type { Rule, RuleWhen } from "../../server/schemas/rule.ts";
import { formatTimeOfDay } from "../components/dates.ts";
import { formatNumber } from "../components/locale.ts";
import { metricTexts } from "./metric-text.ts";
import { durationText } from "./rules.ts";

/** Whom a rule can name. */
export type Recipients = {
  members: Member[];
  schedules: OnCallSchedule[];
  destinations: ProjectDestination[];
};

/** The condition and the recipients of a rule: "Each event matching `channel:payments`, to everyone". */
export function RuleSentence({ rule, ...recipients }: Recipients & { rule: Rule }) {
  const { q, when, forEach, to, resolve } = rule;
  const [before, after] = whenTexts(when);
  return (
    <>
      {before}
      <Matching q={q} />
      {after}
      {forEach !== null && `, for ${eachText(forEach)}`}, to {listText(recipientNames(to, recipients))}
      {resolve !== null && (
        <>
          , until one matches <code className="font-mono text-ink text-xs">{resolve}</code>
        </>
      )}
    </>
  );
}

function Matching({ q }: { q: string }): ReactNode {
  if (q === "") return null;
  return (
    <>
      {" matching "}
      <code className="font-mono text-ink text-xs">{q}</code>
    </>
  );
}

/** The words for `forEach`: "each value of service". */
export function eachText(forEach: string | null): string {
  if (forEach === null) return "all events together";
  return forEach.startsWith("tag.") ? `each value of ${forEach.slice(4)}` : `each ${forEach}`;
}

/** The words before and after the search. */
export function whenTexts(when: RuleWhen): [before: string, after: string] {
  switch (when.type) {
    case "each":
      return ["Each event", ""];
    case "burst":
      return ["The first event", `, then a summary every ${durationText(when.minutes)}`];
    case "digest":
      return ["A digest of events", ` ${digestTime(when)}`];
    case "silence":
      return ["If no event", ` comes for ${durationText(when.minutes)}`];
    case "count":
      return [
        `If more than ${when.above === 1 ? "1 event" : `${formatNumber(when.above)} events`}`,
        ` come within ${durationText(when.minutes)}`,
      ];
    case "metric":
      return metricTexts(when);
    case "number":
      return ["Each event", ` whose ${when.tag} is above ${formatNumber(when.above)}`];
  }
}

function digestTime(when: Extract<RuleWhen, { type: "digest" }>): string {
  if (when.every === "hour") return "each hour";
  const day =
    when.every === "day"
      ? "each day"
      : `each ${when.weekday.charAt(0).toUpperCase()}${when.weekday.slice(1)}`;
  return `${day} at ${formatTimeOfDay(when.at)} (${when.timeZone})`;
}

/** The names of one or two members, or the number of more. Who has left or was deleted is left out. */
export function recipientNames(to: Rule["to"], { members, schedules, destinations }: Recipients): string[] {
  const named = members.filter(({ id }) => to.members.includes(id)).map(({ name, email }) => name || email);
  return [
    ...(to.everyone ? ["everyone"] : []),
    ...schedules
      .filter(({ id }) => to.schedules.includes(id))
      .map(({ name }) => `whoever is on call in ${name}`),
    ...destinations.filter(({ id }) => to.destinations.includes(id)).map(({ name }) => name),
    ...(named.length > 2 ? [`${named.length} members`] : named),
  ];
}

export function listText(names: string[]): string {
  if (names.length === 0) return "nobody who is still here";
  return new Intl.ListFormat("en").format(names);
}
