import { formatDate } from "../components/dates.ts";

/** The users of a number about activity: of stickiness, or of new and returning users. */
export type ActivityQuestion = {
  of: "stickiness" | "lifecycle";
  from: string;
  to: string;
  by: "day" | "week" | "month";
  timeZone: string;
  q: string;
  /** Of new users: by which first event. */
  first: "ever" | "range";
  which:
    | { periods: number }
    | { last: number }
    /** `start` is when the period begins. */
    | { period: number; start: string; users: "new" | "returning" | "all" };
};

export function activityAddressOf(question: ActivityQuestion): Record<string, string> {
  const { of, from, to, by, timeZone, q, first, which } = question;
  return {
    ...{ of, from, to, by, timeZone, q, first },
    ...Object.fromEntries(Object.entries(which).map(([name, value]) => [name, String(value)])),
  };
}

/** The question of an address; null if it is none. */
export function activityQuestionIn(
  of: ActivityQuestion["of"],
  text: (name: string) => string,
  numberIn: (text: string) => number | undefined,
): ActivityQuestion | null {
  const [periods, last, period] = [text("periods"), text("last"), text("period")].map(numberIn);
  const users = text("users");
  const which: ActivityQuestion["which"] | null =
    periods !== undefined
      ? { periods }
      : last !== undefined
        ? { last }
        : period !== undefined
          ? { period, start: text("start"), users: users === "new" || users === "returning" ? users : "all" }
          : null;
  const by = text("by");
  if (which === null) return null;
  return {
    ...{ of, from: text("from"), to: text("to"), by: by === "week" || by === "month" ? by : "day" },
    ...{
      timeZone: text("timeZone") || "UTC",
      q: text("q"),
      first: text("first") === "range" ? "range" : "ever",
    },
    which,
  };
}

/** The request that lists the users. */
export function activityRequestOf(question: ActivityQuestion): { path: string; query: [string, string][] } {
  const { of, first, start, users, ...query } = activityAddressOf(question);
  return {
    path: `/api/${of}/users`,
    query: Object.entries({
      ...query,
      ...(of === "lifecycle" && { first: first!, users: users! }),
    }).filter(([, value]) => value !== ""),
  };
}

/** "New in the week of Nov 2, 2026", "Active on 3 days". */
export function activityTitleOf({ by, which }: ActivityQuestion): string {
  const periods = (count: number) => `${count} ${by}${count === 1 ? "" : "s"}`;
  if ("periods" in which) return `Active ${by === "day" ? "on" : "in"} ${periods(which.periods)}`;
  if ("last" in which) return `Active in the last ${periods(which.last)}`;
  const { start, users } = which;
  const date = Number.isNaN(Date.parse(start))
    ? "…"
    : formatDate(start, by === "month" ? "monthOfYear" : "dayOfYear");
  const when = by === "day" ? `on ${date}` : by === "week" ? `in the week of ${date}` : `in ${date}`;
  return `${users === "new" ? "New" : users === "returning" ? "Returned" : "Active"} ${when}`;
}
