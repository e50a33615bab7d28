// The form of a cohort. Its fields are texts, as they are typed.
import type {
  Cohort,
  CohortCondition,
  CohortDraft,
  CohortLeaf,
  CohortMatch,
  PropertyTest,
} from "../../server/schemas/cohort.ts";
import { type Part, part } from "../edits/differences.ts";
import { mistakeIn } from "../feed/filters.ts";
import { cohortText } from "./cohort-text.ts";

export const matchLabels: Record<CohortMatch, string> = {
  all: "all of these",
  any: "any of these",
  none: "none of these",
};

/** The kinds of conditions, as one chooses them. */
export const kinds = {
  did: "Did something",
  didNot: "Didn't do something",
  property: "Property",
  firstSeen: "First seen",
  lastSeen: "Last seen",
  search: "Search for users",
  users: "Named users",
  group: "Group of conditions",
} as const;
export type Kind = keyof typeof kinds;

export type LeafForm = {
  /** Of the list, for React. */
  key: string;
  kind: Kind;
  q: string;
  times: string;
  /** How often at most, of what somebody did. Empty: any number of times. */
  most: string;
  /** Empty: at any time. */
  days: string;
  name: string;
  test: PropertyTest;
  /** Values, separated by commas, or a number. */
  value: string;
  isWithin: boolean;
  userIds: string;
  match: CohortMatch;
  conditions: LeafForm[];
};

export type CohortForm = { name: string; match: CohortMatch; conditions: LeafForm[] };

export function newCondition(kind: Kind = "did"): LeafForm {
  return {
    key: crypto.randomUUID(),
    kind,
    q: "",
    times: "1",
    most: "",
    days: "30",
    name: "",
    test: "is",
    value: "",
    isWithin: true,
    userIds: "",
    match: "any",
    conditions: kind === "group" ? [newCondition()] : [],
  };
}

export function newCohortForm(): CohortForm {
  return { name: "", match: "all", conditions: [newCondition()] };
}

export function formOf({
  name,
  match,
  conditions,
}: Pick<Cohort, "name" | "match" | "conditions">): CohortForm {
  return { name, match, conditions: conditions.map(formOfCondition) };
}

function formOfCondition(condition: CohortCondition): LeafForm {
  const form = newCondition();
  switch (condition.type) {
    case "group":
      return {
        ...form,
        kind: "group",
        match: condition.match,
        conditions: condition.conditions.map(formOfCondition),
      };
    case "events": {
      const { q, atLeast, atMost, days } = condition;
      const isNot = atMost !== undefined && atLeast === undefined;
      return {
        ...form,
        kind: isNot ? "didNot" : "did",
        q,
        // "At most 2" is "not 3 times or more".
        times: String(isNot ? atMost + 1 : (atLeast ?? 1)),
        most: isNot || atMost === undefined ? "" : String(atMost),
        days: days === null ? "" : String(days),
      };
    }
    case "property":
      return {
        ...form,
        kind: "property",
        name: condition.name,
        test: condition.test,
        value: condition.number === undefined ? joined(condition.values ?? []) : String(condition.number),
      };
    case "firstSeen":
    case "lastSeen":
      return {
        ...form,
        kind: condition.type,
        isWithin: condition.withinDays !== undefined,
        days: String(condition.withinDays ?? condition.beforeDays),
      };
    case "search":
      return { ...form, kind: "search", q: condition.q };
    case "users":
      return { ...form, kind: "users", userIds: condition.userIds.join("\n") };
  }
}

/** The request's body. Conditions that are not complete are missing in it. */
export function cohortOf({ name, match, conditions }: CohortForm): CohortDraft & { name: string } {
  return { name: name.trim(), match, conditions: conditions.flatMap(conditionOf) };
}

/** Whether all conditions are complete, so that the people can be counted. */
export function isComplete({ conditions }: Pick<CohortForm, "conditions">): boolean {
  return conditions.every(
    (condition) =>
      conditionOf(condition).length === 1 &&
      (condition.kind !== "group" || (condition.conditions.length > 0 && isComplete(condition))),
  );
}

function conditionOf(form: LeafForm): CohortCondition[] {
  if (form.kind !== "group") return leafOf(form);
  const conditions = form.conditions.flatMap(leafOf);
  return conditions.length === 0 ? [] : [{ type: "group", match: form.match, conditions }];
}

function leafOf(form: LeafForm): CohortLeaf[] {
  const { kind, q, test, isWithin } = form;
  const days = wholeOf(form.days);
  switch (kind) {
    case "did":
    case "didNot": {
      const times = wholeOf(form.times);
      if (times === null || (form.days.trim() !== "" && days === null) || mistakeIn(q) !== null) return [];
      const most = wholeOf(form.most);
      if (kind === "did" && form.most.trim() !== "" && (most === null || most < times)) return [];
      const bound =
        kind === "did" ? { atLeast: times, ...(most !== null && { atMost: most }) } : { atMost: times - 1 };
      return [{ type: "events", q: q.trim(), ...bound, days }];
    }
    case "property": {
      const name = form.name.trim();
      if (name === "") return [];
      if (test === "exists" || test === "missing") return [{ type: "property", name, test }];
      if (test === "above" || test === "below") {
        const number = form.value.trim() === "" ? Number.NaN : Number(form.value);
        return Number.isFinite(number) ? [{ type: "property", name, test, number }] : [];
      }
      const values = valuesIn(form.value);
      return values.length === 0 ? [] : [{ type: "property", name, test, values }];
    }
    case "firstSeen":
    case "lastSeen":
      if (days === null) return [];
      return [{ type: kind, ...(isWithin ? { withinDays: days } : { beforeDays: days }) }];
    case "search":
      return q.trim() === "" ? [] : [{ type: "search", q: q.trim() }];
    case "users": {
      const userIds = [...new Set(form.userIds.split("\n").filter((userId) => userId !== ""))];
      return userIds.length === 0 ? [] : [{ type: "users", userIds }];
    }
    case "group":
      return [];
  }
}

function wholeOf(text: string): number | null {
  return /^\s*[1-9][0-9]{0,6}\s*$/.test(text) ? Number(text) : null;
}

/** Values separated by commas. Within quotes, a value can have commas and doubled quotes, as in CSV, or be empty. */
export function valuesIn(text: string): string[] {
  return [...text.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)/g)]
    .map(([, quoted, bare = ""]) => quoted?.replaceAll('""', '"') ?? (bare.trim() || null))
    .filter((value) => value !== null);
}

export function joined(values: readonly string[]): string {
  return values
    .map((value) => (/[,"]|^\s|\s$|^$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
    .join(", ");
}

/** The parts of a cohort, for when two people have changed it. */
export const cohortParts: Part<CohortForm>[] = [
  part("Name", ["name"], ({ name }) => name),
  part("Conditions", ["match", "conditions"], (form) => cohortText(cohortOf(form))),
];
