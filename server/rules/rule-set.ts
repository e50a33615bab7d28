import type { Transaction } from "kysely";
import { type Event, isBackdated } from "../event/event.ts";
import type { Rule } from "../schemas/rule.ts";
import type { SilenceRow } from "../silences/coverage.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { AlertNotification, RuleNotification, ToldNotification } from "./rule-kind.ts";
import { resolveMatcher, ruleMatcher } from "./rule-matcher.ts";
import { afterDowntime, dueAt, onMatch, onTime, type RuleState } from "./rule-state.ts";
import { ruleOf } from "./rules.ts";

/**
 * What a rule has found, and when, in milliseconds since 1970. Without a rule, it is an event for those who want all
 * events.
 */
export type RuleMatch = {
  projectId: number;
  rule: Rule | null;
  notification: RuleNotification | ToldNotification;
  foundMs: number;
  /** The alert that it belongs to. */
  alertId: string | null;
};

/** A match of which people are told, unless a silence covers it. */
export type ToldMatch = RuleMatch & { notification: ToldNotification; silence: SilenceRow | null };

type OpenRule = {
  projectId: number;
  rule: Rule;
  isMatch: (event: Event) => boolean;
  /** Whether an event resolves the rule's alert. */
  isResolving: (event: Event) => boolean;
  /** As it is stored. */
  stored: RuleState;
  state: RuleState;
};

/** The enabled rules that a step applies. Their states change in memory until they are saved. */
export class RuleSet {
  readonly #rules: OpenRule[];
  readonly #byProject: Map<number, OpenRule[]>;
  /** Null if no time passes in this step. */
  readonly #nowMs: number | null;
  readonly matches: RuleMatch[] = [];

  private constructor(rules: OpenRule[], nowMs: number | null) {
    this.#rules = rules;
    this.#byProject = Map.groupBy(rules, ({ projectId }) => projectId);
    this.#nowMs = nowMs;
  }

  /** Reads the rules of these projects, and those of any project that are due. */
  static async read(
    transaction: Transaction<ControlTables>,
    projects: number[],
    nowMs: number | null,
  ): Promise<RuleSet> {
    const rows = await transaction
      .selectFrom("rules")
      .selectAll()
      .where("enabled", "=", 1)
      .where((eb) =>
        eb.or([
          ...(projects.length > 0 ? [eb("projectId", "in", projects)] : []),
          eb("dueAt", "<=", nowMs ?? -1),
        ]),
      )
      .orderBy("createdAt")
      .orderBy("id")
      .execute();
    const rules = rows.map((row) => {
      const rule = ruleOf(row);
      const state = JSON.parse(row.state) as RuleState;
      return {
        projectId: row.projectId,
        rule,
        isMatch: ruleMatcher(rule),
        isResolving: resolveMatcher(rule),
        stored: state,
        state,
      };
    });
    return new RuleSet(rules, nowMs);
  }

  /** Takes in an event, in the order of arrival. After the rules' matches comes one for those who want all events. */
  take(projectId: number, event: Event, receivedMs: number): void {
    const backdated = isBackdated(Date.parse(event.createdAt), receivedMs);
    for (const open of this.#byProject.get(projectId) ?? []) {
      const { rule } = open;
      const isResolving = !backdated && open.isResolving(event);
      // What resolves an alert is no new reason for it. For a silence, it is a sign of life.
      if ((!isResolving || rule.when.type === "silence") && open.isMatch(event))
        this.#follow(open, onMatch(rule, open.state, event, receivedMs), receivedMs);
      if (!isResolving) continue;
      const notification: AlertNotification = { type: "resolved", atMs: receivedMs, sinceMs: 0, event };
      this.matches.push({ projectId, rule, notification, foundMs: receivedMs, alertId: null });
    }
    if (backdated) return;
    const notification: RuleNotification = { type: "event", atMs: receivedMs, event };
    this.matches.push({ projectId, rule: null, notification, foundMs: receivedMs, alertId: null });
  }

  /** Ends windows that are over. */
  passTime(): void {
    const nowMs = this.#nowMs;
    if (nowMs === null) return;
    for (const open of this.#rules) this.#follow(open, onTime(open.rule, open.state, nowMs), nowMs);
  }

  /** The server begins after it was down. */
  startAgain(): void {
    for (const open of this.#rules) open.state = afterDowntime(open.rule, open.state, this.#nowMs!);
  }

  async save(transaction: Transaction<ControlTables>): Promise<void> {
    for (const { rule, stored, state } of this.#rules) {
      if (state === stored) continue;
      await transaction
        .updateTable("rules")
        .set({ state: JSON.stringify(state), dueAt: dueAt(rule, state) })
        .where("id", "=", rule.id)
        .execute();
    }
  }

  #follow(
    open: OpenRule,
    step: { state: RuleState; notifications: RuleNotification[] },
    foundMs: number,
  ): void {
    open.state = step.state;
    const { projectId, rule } = open;
    for (const notification of step.notifications)
      this.matches.push({ projectId, rule, notification, foundMs, alertId: null });
  }
}
