import type { Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { Rule } from "../schemas/rule.ts";
import type { SilenceRow } from "../silences/coverage.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { valueOfEvent } from "./for-each.ts";
import type { AlertNotification, RuleNotification, ToldNotification } from "./rule-kind.ts";
import { type RuleSearches, resolveMatcher, ruleMatcher } from "./rule-matcher.ts";
import { afterDowntime, dueAt, onMatch, onTime, type RuleState } from "./rule-state.ts";
import { isForgotten, newValue, type RuleValue, saveValues } from "./rule-values.ts";
import { type RuleRow, ruleOf } from "./rules.ts";

/**
 * A finding of a rule, and when, in milliseconds since 1970. Without a rule, it is an event for those who want all
 * events.
 */
export type RuleMatch = {
  projectId: number;
  rule: Rule | null;
  /** The value of the rule that it is about; null if the rule takes all events together. */
  value: string | null;
  /** The group of its alert; empty for none. */
  groupValue: string;
  notification: RuleNotification | ToldNotification;
  foundMs: number;
  /** The alert that it belongs to. */
  alertId: string | null;
};

/**
 * A match of which people are told, unless a silence covers it. With `group`, it is about so many alerts of one group.
 */
export type ToldMatch = RuleMatch & {
  notification: ToldNotification;
  silence: SilenceRow | null;
  group?: { value: string; alerts: number };
};

/** A rule in a step. Its states change in memory until they are saved. */
export class OpenRule {
  readonly rule: Rule;
  readonly projectId: number;
  /** Those of all rules of the step, in their order. */
  readonly #matches: RuleMatch[];
  readonly #isMatch: (event: Event) => boolean;
  /** Whether an event resolves the rule's alert. */
  readonly #isResolving: (event: Event) => boolean;
  /** Of a rule that takes all events together. */
  readonly #stored: RuleState;
  #state: RuleState;
  /** Of a rule for each value, those that the step needs. */
  readonly #values = new Map<string, RuleValue>();
  readonly #forgotten: RuleValue[] = [];
  #valueCount = 0;

  /** @param searches - the rule's searches, with the people and cohorts that they name */
  constructor(row: RuleRow, searches: RuleSearches, matches: RuleMatch[]) {
    this.#matches = matches;
    this.rule = ruleOf(row);
    this.projectId = row.projectId;
    this.#isMatch = ruleMatcher(searches);
    this.#isResolving = resolveMatcher(searches);
    this.#stored = JSON.parse(row.state) as RuleState;
    this.#state = this.#stored;
  }

  /** @param count - how many values it follows in all */
  setValues(values: readonly RuleValue[], count: number): void {
    for (const value of values) this.#values.set(value.value, value);
    this.#valueCount = count;
  }

  /** Takes in an event. `persons` are as in `valueOfEvent`. */
  take(event: Event, receivedMs: number, isBackdated: boolean, persons: ReadonlyMap<string, string>): void {
    const { forEach, groupBy, when } = this.rule;
    const value = forEach === null ? null : valueOfEvent(forEach, event, persons);
    if (forEach !== null && value === null) return;
    const groupValue = groupBy === null ? "" : (valueOfEvent(groupBy, event, persons) ?? "");
    const isResolving = !isBackdated && this.#isResolving(event);
    // An event that resolves an alert is no new reason for it. For a silence, it is a sign of life.
    if ((!isResolving || when.type === "silence") && this.#isMatch(event))
      this.#match(value, groupValue, event, receivedMs);
    if (!isResolving) return;
    const notification: AlertNotification = { type: "resolved", atMs: receivedMs, sinceMs: 0, event };
    this.#found(value, groupValue, [notification], receivedMs);
  }

  #match(value: string | null, groupValue: string, event: Event, receivedMs: number): void {
    if (value === null) {
      this.#state = this.#follow(null, "", onMatch(this.rule, this.#state, event, receivedMs), receivedMs);
      return;
    }
    const known = this.#values.get(value);
    if (!known && this.#valueCount >= limits.ruleValues) return;
    const progress = known ?? newValue(this.rule, value, receivedMs);
    const step = onMatch(this.rule, progress.state, event, receivedMs);
    const isChanged = step.state !== progress.state;
    progress.groupValue = groupValue;
    progress.state = this.#follow(value, groupValue, step, receivedMs);
    if (!isChanged) return;
    progress.seenMs = receivedMs;
    if (known) return;
    this.#values.set(value, progress);
    this.#valueCount++;
  }

  /** Ends windows that are over. */
  passTime(nowMs: number): void {
    const { rule } = this;
    if (rule.forEach === null) this.#state = this.#follow(null, "", onTime(rule, this.#state, nowMs), nowMs);
    for (const progress of this.#values.values()) {
      const { value, groupValue } = progress;
      progress.state = this.#follow(value, groupValue, onTime(rule, progress.state, nowMs), nowMs);
      if (!isForgotten(rule, progress, nowMs)) continue;
      this.#values.delete(value);
      this.#forgotten.push(progress);
      this.#found(value, groupValue, [{ type: "forgotten", atMs: nowMs }], nowMs);
    }
  }

  /** The server begins after it was down. */
  startAgain(nowMs: number): void {
    if (this.rule.forEach === null) this.#state = afterDowntime(this.rule, this.#state, nowMs);
    for (const progress of this.#values.values())
      progress.state = afterDowntime(this.rule, progress.state, nowMs);
  }

  async save(transaction: Transaction<ControlTables>): Promise<void> {
    if (this.rule.forEach !== null)
      await saveValues(transaction, this.rule, [...this.#values.values()], this.#forgotten);
    else if (this.#state !== this.#stored)
      await transaction
        .updateTable("rules")
        .set({ state: JSON.stringify(this.#state), dueAt: dueAt(this.rule, this.#state) })
        .where("id", "=", this.rule.id)
        .execute();
  }

  #follow(
    value: string | null,
    groupValue: string,
    { state, notifications }: { state: RuleState; notifications: RuleNotification[] },
    foundMs: number,
  ): RuleState {
    this.#found(value, groupValue, notifications, foundMs);
    return state;
  }

  #found(
    value: string | null,
    groupValue: string,
    notifications: readonly (RuleNotification | AlertNotification)[],
    foundMs: number,
  ): void {
    const { rule, projectId } = this;
    for (const notification of notifications)
      this.#matches.push({ projectId, rule, value, groupValue, notification, foundMs, alertId: null });
  }
}
