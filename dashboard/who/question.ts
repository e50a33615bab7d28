// The users and events that a page lists, as in its URL: those of a search, of a funnel's step, or of a cohort.
import { limits } from "../../server/core/limits.ts";
import { countedTitle } from "../../server/schemas/group-texts.ts";
import { stepNameOf } from "../../server/schemas/step-name.ts";
import { formatDate } from "../components/dates.ts";
import { secondsText } from "../components/durations.ts";
import { type Filters, filtersIn, queryOf } from "../feed/filters.ts";

import {
  type ActivityQuestion,
  activityAddressOf,
  activityQuestionIn,
  activityRequestOf,
  activityTitleOf,
} from "./activity-question.ts";
import {
  type PathQuestion,
  pathAddressOf,
  pathQueryOf,
  pathQuestionIn,
  pathTitleOf,
} from "./path-question.ts";

/** A time in seconds, from `from` on to before `to`; null: any longer one. */
export type Took = { from: number; to: number | null };

type Time = { from: string; to: string };
/** The type of the groups that are counted; without it, users are. */
type Counting = { per?: string };

export type Question =
  | ({
      of: "events";
      filters: Filters;
      /** Only users whose property has this value. */
      property?: { key: string; value: string };
    } & Counting)
  | ({
      of: "funnel";
      steps: string[];
      /** Empty if the search says it. */
      names: string[];
      windowSeconds: number;
      /** The step that was taken, from 1 on. */
      reached: number;
      /** Only those who took no step after it. */
      isDropped: boolean;
      /** Only those who took so long since the step before. */
      took?: Took;
      /** Only those whose first step has this value. */
      split?: { by: string; value: string };
    } & Time &
      Counting)
  | ({
      of: "cohort";
      start: string;
      again: string;
      first: "ever" | "range";
      timeZone: string;
      /** The week that it began in, and its place among those of the time. */
      week: string;
      cohort: number;
      /** How many weeks later they returned; undefined: whether or not they did. */
      returned?: number;
    } & Time &
      Counting)
  | PathQuestion
  | (ActivityQuestion & Counting);

const steps = Array.from({ length: limits.funnelSteps }, (_, index) => index + 1);

/** The type of the groups that a question lists; undefined: users. */
export function perOf(question: Question): string | undefined {
  return question.of === "paths" ? undefined : question.per;
}

/** The address of a question. `show` is left out, so users are shown. */
export function addressOf(question: Question): Record<string, string> {
  const per = perOf(question);
  return { ...plainAddressOf(question), ...(per !== undefined && { per }) };
}

function plainAddressOf(question: Question): Record<string, string> {
  const { of } = question;
  if (of === "events") {
    const { filters, property } = question;
    return { of, ...filters, ...(property && { property: property.key, value: property.value }) };
  }
  if (of === "paths") return pathAddressOf(question);
  if (isOfActivity(question)) return activityAddressOf(question);
  const { from, to } = question;
  if (of === "cohort") {
    const { start, again, first, timeZone, week, cohort, returned } = question;
    return {
      ...{ of, start, again, first, timeZone, week, cohort: String(cohort), from, to },
      ...(returned !== undefined && { returned: String(returned) }),
    };
  }
  const { names, windowSeconds, reached, isDropped, split, took } = question;
  return {
    of,
    ...Object.fromEntries(question.steps.map((q, index) => [`step${index + 1}`, q || "*"])),
    ...Object.fromEntries(names.flatMap((name, index) => (name ? [[`name${index + 1}`, name]] : []))),
    ...{ window: String(windowSeconds), reached: String(reached), from, to },
    ...(isDropped && { dropped: "true" }),
    ...(took && tookQuery(took)),
    ...(split && { split: split.by, value: split.value }),
  };
}

function isOfActivity(question: Question): question is ActivityQuestion {
  return question.of === "stickiness" || question.of === "lifecycle";
}

/** The question of an address; null if it is none. */
export function questionIn(search: Record<string, unknown>): Question | null {
  const question = plainQuestionIn(search);
  const { per } = search;
  if (question === null || question.of === "paths") return question;
  return typeof per !== "string" || per === "" ? question : { ...question, per };
}

function plainQuestionIn(search: Record<string, unknown>): Question | null {
  const text = (name: string) => (typeof search[name] === "string" ? search[name] : "");
  if (search.of === "events") {
    const key = text("property");
    const property = key === "" ? undefined : { key, value: text("value") };
    return { of: "events", filters: filtersIn(search), ...(property && { property }) };
  }
  const time = { from: text("from"), to: text("to") };
  if (time.from === "" || time.to === "") return null;
  if (search.of === "paths") return pathQuestionIn(text, numberIn);
  if (search.of === "stickiness" || search.of === "lifecycle")
    return activityQuestionIn(search.of, text, numberIn);
  if (search.of === "cohort") {
    const cohort = numberIn(text("cohort"));
    const returned = numberIn(text("returned"));
    if (cohort === undefined) return null;
    return {
      ...{ of: "cohort", ...time, start: text("start"), again: text("again"), cohort },
      ...{ first: search.first === "range" ? "range" : "ever", timeZone: text("timeZone") || "UTC" },
      week: text("week"),
      ...(returned !== undefined && { returned }),
    };
  }
  const taken = steps.map((step) => text(`step${step}`)).filter((q) => q !== "");
  const reached = numberIn(text("reached"));
  if (search.of !== "funnel" || taken.length < 2 || !reached || reached > taken.length) return null;
  const [by, value] = [text("split"), text("value")];
  const tookFrom = numberIn(text("tookFrom"));
  return {
    ...{ of: "funnel", ...time, reached },
    // The URL omits empty parts.
    steps: taken.map((q) => (q === "*" ? "" : q)),
    names: taken.map((_, index) => text(`name${index + 1}`)),
    windowSeconds: numberIn(text("window")) ?? 0,
    isDropped: search.dropped === "true",
    ...(tookFrom !== undefined && { took: { from: tookFrom, to: numberIn(text("tookTo")) ?? null } }),
    ...(by !== "" && { split: { by, value } }),
  };
}

function numberIn(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** The request that lists the users, or groups, of a question. */
export function requestOf(question: Question): { path: string; query: [string, string][] } {
  const { path, query } = plainRequestOf(question);
  const per = perOf(question);
  return { path, query: per === undefined ? query : [...query, ["per", per]] };
}

function plainRequestOf(question: Question): { path: string; query: [string, string][] } {
  if (question.of === "events") {
    // Without a start, the API would list the last 30 days.
    const query = { from: new Date(0).toISOString(), ...queryOf(question.filters) };
    const { property } = question;
    const { key, value } = property ?? { key: undefined, value: undefined };
    return {
      path: "/api/stats/users",
      query: Object.entries({ ...query, ...(key !== undefined && { property: key, value: value! }) }),
    };
  }
  if (isOfActivity(question)) return activityRequestOf(question);
  if (question.of === "paths") return { path: "/api/paths/users", query: pathQueryOf(question) };
  const { from, to } = question;
  if (question.of === "cohort") {
    const { start, again, first, timeZone, cohort, returned } = question;
    const query = { start, return: again, first, timeZone, by: "week", cohort: String(cohort), from, to };
    return {
      path: "/api/retention/users",
      query: [
        ...Object.entries(query),
        ...(returned === undefined ? [] : [["returned", String(returned)] as [string, string]]),
      ],
    };
  }
  const { windowSeconds, reached, isDropped, split, took } = question;
  return {
    path: "/api/funnel/users",
    query: [
      ...question.steps.map((q): [string, string] => ["step", q]),
      ...Object.entries({ window: String(windowSeconds), reached: String(reached), from, to }),
      ...(isDropped ? [["dropped", "true"] as [string, string]] : []),
      ...Object.entries(took ? tookQuery(took) : {}),
      ...Object.entries(split ? { split: split.by, value: split.value } : {}),
    ],
  };
}

function tookQuery({ from, to }: Took): Record<string, string> {
  return { tookFrom: String(from), ...(to !== null && { tookTo: String(to) }) };
}

/** The title of a question: "Dropped out after Cart opened". */
export function titleOf(question: Question): string {
  if (question.of === "events")
    return question.property
      ? `Users with ${question.property.key} “${question.property.value}”`
      : `${countedTitle(question.per)} of matching events`;
  if (isOfActivity(question)) return activityTitleOf(question);
  if (question.of === "paths") return pathTitleOf(question);
  if (question.of === "cohort") {
    const { week, returned } = question;
    const began = `Began in the week of ${Number.isNaN(Date.parse(week)) ? "…" : formatDate(week, "dayOfYear")}`;
    if (returned === undefined) return began;
    return `${began}, back ${returned === 0 ? "in the same week" : returned === 1 ? "a week later" : `${returned} weeks later`}`;
  }
  const { reached, isDropped, names, took } = question;
  const q = question.steps[reached - 1]!;
  const name = stepNameOf(q, names[reached - 1]) ?? q;
  const isLast = reached === question.steps.length;
  if (took) return `Took the step “${name}” ${tookText(took)} after the one before`;
  return `${isDropped && !isLast ? "Dropped out after" : "Took the step"} “${name}”`;
}

/** "2–5 min", "under 1 s", "90 days and more". */
export function tookText({ from, to }: Took): string {
  if (to === null) return `${secondsText(from)} and more`;
  if (from === 0) return `under ${secondsText(to)}`;
  const [[least, unit], [most, unitOfMost]] = [secondsText(from).split(" "), secondsText(to).split(" ")];
  return unit === unitOfMost ? `${least} – ${most} ${unit}` : `${least} ${unit} – ${most} ${unitOfMost}`;
}

/** The event that is listed for each, as the second half of "Each user has one event here: …". */
export function eventText(question: Question): string {
  const their = perOf(question) === undefined ? "their" : "its";
  if (question.of === "funnel") return "the one that took the step";
  if (question.of === "events") return `${their} last one that matches`;
  if (isOfActivity(question)) return "period" in question.which ? "the first one then" : `${their} last one`;
  if (question.of === "paths")
    return question.target === "end" ? "the last one of their path" : "the one that took the step";
  return question.returned === undefined ? `${their} first one` : `the first one of ${their} return`;
}
