import { limits } from "../../server/core/limits.ts";
import { parseSearch, printSearch, type Search } from "../../server/event/search.ts";
import type { CohortDraft } from "../../server/schemas/cohort.ts";
import type { CountedUserList } from "../../server/schemas/counted-users.ts";
import { api } from "../api.ts";
import { searchableIn, termOf, termsOf } from "../feed/filters.ts";
import { timeIn } from "../time-range/time-range.ts";
import { type Question, requestOf } from "./question.ts";

const daysOf: Record<string, number> = { "24h": 1, "7d": 7, "30d": 30, "90d": 90, "365d": 365 };

/**
 * The conditions that describe the people of a question. A search of the last days stays one, so that people join and
 * leave the cohort; all others become a list of these people.
 */
export async function conditionsOf(project: string, question: Question): Promise<CohortDraft["conditions"]> {
  const living = livingCondition(question);
  return living ?? [{ type: "users", userIds: await peopleOf(project, question) }];
}

/** Why the people of a question can't be saved; undefined if they can. */
export function whyNotSaved(question: Question, people: number): string | undefined {
  if (people === 0) return "Nobody is counted here";
  if (people <= limits.cohortUserIds || livingCondition(question)) return undefined;
  return `A list of at most ${limits.cohortUserIds} people can be saved. Choose a range like the last 30 days, which stays a search.`;
}

function livingCondition(question: Question): CohortDraft["conditions"] | null {
  if (question.of !== "events") return null;
  const { range, from, to } = timeIn(question.filters);
  const days = range === undefined ? null : daysOf[range];
  if (days === undefined || from !== undefined || to !== undefined) return null;
  const terms = Object.entries(searchableIn(question.filters)).flatMap(([key, value]): Search[] =>
    key === "q" ? termsOf(parseSearch(value)) : [termOf(key, value)],
  );
  const q = terms.length === 0 ? "" : printSearch({ kind: "all", of: terms });
  // A cohort's conditions can't name another one.
  if (/cohort:/.test(q)) return null;
  return [{ type: "events", q, atLeast: 1, days }];
}

async function peopleOf(project: string, question: Question): Promise<string[]> {
  const { path, query } = requestOf(question);
  const parameters = new URLSearchParams([
    ...query,
    ["project", project],
    ["limit", String(limits.cohortUserIds)],
  ]);
  const { users } = await api<CountedUserList>(`${path}?${parameters}`);
  return users.map(({ userId }) => userId);
}
