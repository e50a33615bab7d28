import type { EventFilter } from "./filter.ts";
import type { NumberRange } from "./number.ts";
import type { Search } from "./search.ts";
import { isExact, isWhole, token } from "./tokens.ts";
import type { UserSet } from "./user-set.ts";
import { formsOf, wordsOf } from "./words.ts";

type ConditionOf<Leaf> =
  | Leaf
  | { kind: "all" | "any"; of: ConditionOf<Leaf>[] }
  | { kind: "andNot"; of: ConditionOf<Leaf>; not: ConditionOf<Leaf> };

type TokenLeaf =
  /** Events with any of the tokens. */
  | { kind: "tokens"; tokens: string[] }
  /** Events with a token that starts with the prefix. */
  | { kind: "prefix"; prefix: string };

/** Events with a tag whose value is a number in a range. Blocks can tell, an index of tokens can't. */
export type NumberCondition = { kind: "number"; projectId: number; key: string; range: NumberRange };

/** Events of users in a set, without a tag with some key. Blocks can tell, an index of tokens can't. */
export type MembersCondition = { kind: "members"; projectId: number; set: UserSet; withoutTag?: string };

/** Which events to find, in terms of tokens, numbers and users. */
export type Condition = ConditionOf<TokenLeaf | NumberCondition | MembersCondition>;
/** Which events to find, in terms of tokens. Each engine translates it to its own query language. */
export type TokenCondition = ConditionOf<TokenLeaf>;

/**
 * A condition that blocks can evaluate, and without numbers an index of tokens: events that match all of `needed`
 * (every event if empty) and none of `excluded`. If it isn't exact, it finds too much, never too little.
 */
export type Match = { needed: Condition[]; excluded: Condition[]; isExact: boolean };

/** Matches words that start with `word`; `start` is the beginning of their tokens. */
type FindPrefix = (start: string, word: string) => Match;

/** Matches every event: the index can't decide. */
export const matchAll: Match = { needed: [], excluded: [], isExact: false };

/** Compiles a filter. Its time range is left out, because engines apply it by row order. */
export function matchOf(projectId: number, filter: EventFilter, findPrefix: FindPrefix): Match {
  function text(text: string, isPrefix: boolean): Match {
    const words = wordsOf(text);
    const prefix = isPrefix ? words.pop() : undefined;
    const parts = words.map(
      (word): Match => ({
        ...anyToken(
          projectId,
          formsOf(word).map((form) => token.word(projectId, form)),
        ),
        isExact: isWhole(word),
      }),
    );
    if (prefix !== undefined) {
      const found = formsOf(prefix).map((form) => findPrefix(token.word(projectId, form), form));
      parts.push(found.length === 1 ? found[0]! : any(projectId, found));
    }
    if (parts.length === 0) return anyToken(projectId, []);
    // The index knows which words an event has, but not their order.
    return { ...all(parts), isExact: parts.length === 1 && parts[0]!.isExact };
  }

  function compile(search: Search): Match {
    switch (search.kind) {
      case "all":
        return all(search.of.map(compile));
      case "any":
        return any(projectId, search.of.map(compile));
      case "not":
        return not(projectId, compile(search.of));
      case "text":
        return text(search.text, search.isPrefix);
      case "tag":
        return anyToken(
          projectId,
          search.values.map((value) => token.tag(projectId, search.key, value)),
        );
      case "number":
        return {
          needed: [{ kind: "number", projectId, key: search.key, range: search.range }],
          excluded: [],
          isExact: true,
        };
      case "members":
        return {
          needed: [{ ...search, projectId }],
          excluded: [],
          isExact: true,
        };
      case "group":
        return compile({ kind: "tag", key: search.type, values: search.ids });
      case "cohort":
        return anyToken(projectId, []);
      case "field":
        return any(
          projectId,
          search.values.map((value) => field[search.field](value)),
        );
    }
  }

  const field = {
    channel: (value: string) => anyToken(projectId, [token.channel(projectId, value)]),
    name: (value: string) => anyToken(projectId, [token.name(projectId, value)]),
    user: (value: string) => anyToken(projectId, [token.user(projectId, value)]),
    notify: (value: string) => {
      const notifies = anyToken(projectId, [token.notifies(projectId)]);
      return value === "true" ? notifies : not(projectId, notifies);
    },
  };

  const { channel, userId, name, notify, tags = [], search } = filter;
  return all([
    ...(channel === undefined ? [] : [field.channel(channel)]),
    ...(userId === undefined ? [] : [field.user(userId)]),
    ...(name === undefined ? [] : [field.name(name)]),
    ...(notify === undefined ? [] : [field.notify(String(notify))]),
    ...tags.map(([key, value]) => anyToken(projectId, [token.tag(projectId, key, value)])),
    ...(search === undefined ? [] : [compile(search)]),
  ]);
}

/** Combines a match into one condition. */
export function conditionOf(projectId: number, { needed, excluded }: Match): Condition {
  const every: Condition = { kind: "tokens", tokens: [token.every(projectId)] };
  const of: Condition = needed.length === 0 ? every : combine("all", needed);
  return excluded.length === 0 ? of : { kind: "andNot", of, not: combine("any", excluded) };
}

/** The numbers on which a condition depends. */
export function numbersIn(condition: Condition): NumberCondition[] {
  switch (condition.kind) {
    case "number":
      return [condition];
    case "all":
    case "any":
      return condition.of.flatMap(numbersIn);
    case "andNot":
      return [...numbersIn(condition.of), ...numbersIn(condition.not)];
    default:
      return [];
  }
}

/** The sets of users on which a condition depends. */
export function membersIn(condition: Condition): MembersCondition[] {
  switch (condition.kind) {
    case "members":
      return [condition];
    case "all":
    case "any":
      return condition.of.flatMap(membersIn);
    case "andNot":
      return [...membersIn(condition.of), ...membersIn(condition.not)];
    default:
      return [];
  }
}

/** Whether an index of tokens can't decide a condition, because it has numbers or sets of users. */
export function needsRows(condition: Condition): boolean {
  switch (condition.kind) {
    case "number":
    case "members":
      return true;
    case "all":
    case "any":
      return condition.of.some(needsRows);
    case "andNot":
      return needsRows(condition.of) || needsRows(condition.not);
    default:
      return false;
  }
}

/** The condition as far as tokens decide it: it finds too much, never too little. */
export function tokenConditionOf(projectId: number, condition: Condition): TokenCondition {
  const bound = boundOf(condition, true);
  if (typeof bound !== "boolean") return bound;
  return { kind: "tokens", tokens: [bound ? token.every(projectId) : token.none(projectId)] };

  /** The upper or lower bound of a condition if a number or set can match any event. True is every event, false is none. */
  function boundOf(part: Condition, isUpper: boolean): TokenCondition | boolean {
    switch (part.kind) {
      case "number":
      case "members":
        return isUpper;
      case "all":
      case "any": {
        // A part that decides alone: an alternative that is on every event, or a part that is on none.
        const decisive = part.kind === "any";
        const of: TokenCondition[] = [];
        for (const each of part.of) {
          const bound = boundOf(each, isUpper);
          if (bound === decisive) return decisive;
          if (typeof bound !== "boolean") of.push(bound);
        }
        if (of.length === 0) return !decisive;
        return of.length === 1 ? of[0]! : { kind: part.kind, of };
      }
      case "andNot": {
        const of = boundOf(part.of, isUpper);
        const excluded = boundOf(part.not, !isUpper);
        if (of === false || excluded === true) return false;
        if (excluded === false) return of;
        return {
          kind: "andNot",
          of: of === true ? { kind: "tokens", tokens: [token.every(projectId)] } : of,
          not: excluded,
        };
      }
      default:
        return part;
    }
  }
}

/** A number that every match must have, if there is one. */
export function requiredNumber(condition: Condition): NumberCondition | null {
  if (condition.kind === "number") return condition;
  if (condition.kind === "andNot") return requiredNumber(condition.of);
  if (condition.kind !== "all") return null;
  for (const part of condition.of) {
    const found = requiredNumber(part);
    if (found) return found;
  }
  return null;
}

/** Matches events with any of the tokens. */
export function anyToken(projectId: number, tokens: string[]): Match {
  // Without tokens, a token that no event has matches nothing.
  const alternatives = tokens.length === 0 ? [token.none(projectId)] : tokens;
  return { needed: [{ kind: "tokens", tokens: alternatives }], excluded: [], isExact: tokens.every(isExact) };
}

function all(parts: Match[]): Match {
  return {
    needed: parts.flatMap(({ needed }) => needed),
    excluded: parts.flatMap(({ excluded }) => excluded),
    isExact: parts.every((part) => part.isExact),
  };
}

function not(projectId: number, part: Match): Match {
  // An inexact match finds too much, and excluding that would lose events.
  if (!part.isExact) return matchAll;
  if (part.needed.length === 0 && part.excluded.length > 0) {
    return { needed: [combine("any", part.excluded)], excluded: [], isExact: true };
  }
  return { needed: [], excluded: [conditionOf(projectId, part)], isExact: true };
}

function any(projectId: number, parts: Match[]): Match {
  const isRestricted = parts.every(({ needed, excluded }) => needed.length + excluded.length > 0);
  return {
    needed: isRestricted
      ? [
          combine(
            "any",
            parts.map((part) => conditionOf(projectId, part)),
          ),
        ]
      : [],
    excluded: [],
    isExact: parts.every((part) => part.isExact),
  };
}

function combine(kind: "all" | "any", of: Condition[]): Condition {
  return of.length === 1 ? of[0]! : { kind, of };
}
