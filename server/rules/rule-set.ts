import type { Transaction } from "kysely";
import { type Event, isBackdated } from "../event/event.ts";
import type { ReadCohorts } from "../storage/cohorts.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { personsOf, searchOfPeople } from "../storage/people.ts";
import { valueOfEvent } from "./for-each.ts";
import { OpenRule, type RuleMatch } from "./open-rule.ts";
import { countValues, openValue, type RuleValueRow, readDueValues, readValues } from "./rule-values.ts";

/** An event that a step takes in, and when it arrived, in milliseconds since 1970. */
type Arrival = { projectId: number; event: Event; receivedMs: number };

type Step = {
  /** Null if no time passes in this step. */
  nowMs: number | null;
  /** Whether it takes up all values that are due, however many they are. */
  isWhole?: boolean;
  /** The cohorts of rules, so that the transaction need not read their members. */
  cohorts: ReadCohorts;
};

/** The enabled rules that a step applies. */
export class RuleSet {
  readonly #rules: OpenRule[];
  readonly #byProject: Map<number, OpenRule[]>;
  readonly #nowMs: number | null;
  readonly #persons: PersonsByProject;
  readonly matches: RuleMatch[];

  private constructor(
    rules: OpenRule[],
    persons: PersonsByProject,
    matches: RuleMatch[],
    nowMs: number | null,
  ) {
    this.#rules = rules;
    this.#persons = persons;
    this.#byProject = Map.groupBy(rules, ({ projectId }) => projectId);
    this.#nowMs = nowMs;
    this.matches = matches;
  }

  /** Reads the rules of the projects whose events arrive, and those of any project that are due. */
  static async read(
    transaction: Transaction<ControlTables>,
    arrivals: readonly Arrival[],
    { nowMs, isWhole = false, cohorts }: Step,
  ): Promise<RuleSet> {
    const projects = [...new Set(arrivals.map(({ projectId }) => projectId))];
    const dueValues = nowMs === null ? [] : await readDueValues(transaction, nowMs, isWhole);
    const due = [...new Set(dueValues.map(({ ruleId }) => ruleId))];
    const rows = await transaction
      .selectFrom("rules")
      .selectAll()
      .where("enabled", "=", 1)
      .where((eb) =>
        eb.or([
          ...(projects.length > 0 ? [eb("projectId", "in", projects)] : []),
          ...(due.length > 0 ? [eb("id", "in", due)] : []),
          eb("dueAt", "<=", nowMs ?? -1),
        ]),
      )
      .orderBy("createdAt")
      .orderBy("id")
      .execute();
    const matches: RuleMatch[] = [];
    const rules: OpenRule[] = [];
    for (const row of rows) {
      const { projectId, q, resolveQ } = row;
      const searches = {
        q: await searchOfPeople(transaction, projectId, q, cohorts),
        resolve: resolveQ === null ? null : await searchOfPeople(transaction, projectId, resolveQ, cohorts),
      };
      rules.push(new OpenRule(row, searches, matches));
    }
    const persons = await readPersons(transaction, rules, arrivals);
    await openValues(transaction, rules, arrivals, dueValues, { nowMs, persons });
    return new RuleSet(rules, persons, matches, nowMs);
  }

  /** Takes in an event, in the order of arrival. After the rules' matches comes one for those who want all events. */
  take({ projectId, event, receivedMs }: Arrival): void {
    const backdated = isBackdated(Date.parse(event.createdAt), receivedMs);
    for (const rule of this.#byProject.get(projectId) ?? [])
      rule.take(event, receivedMs, backdated, personsIn(this.#persons, projectId));
    if (backdated) return;
    this.matches.push({
      projectId,
      rule: null,
      value: null,
      groupValue: "",
      notification: { type: "event", atMs: receivedMs, event },
      foundMs: receivedMs,
      alertId: null,
    });
  }

  /** Ends windows that are over. */
  passTime(): void {
    if (this.#nowMs === null) return;
    for (const rule of this.#rules) rule.passTime(this.#nowMs);
  }

  /** The server begins after it was down. */
  startAgain(): void {
    for (const rule of this.#rules) rule.startAgain(this.#nowMs!);
  }

  async save(transaction: Transaction<ControlTables>): Promise<void> {
    for (const rule of this.#rules) await rule.save(transaction);
  }
}

/** By project: the main IDs of IDs that are joined to another one. */
type PersonsByProject = ReadonlyMap<number, ReadonlyMap<string, string>>;

function personsIn(persons: PersonsByProject, projectId: number): ReadonlyMap<string, string> {
  return persons.get(projectId) ?? new Map();
}

/** Reads who the users of events are, of projects with a rule that follows each user, or groups by it. */
async function readPersons(
  transaction: Transaction<ControlTables>,
  rules: readonly OpenRule[],
  arrivals: readonly Arrival[],
): Promise<PersonsByProject> {
  const persons = new Map<number, ReadonlyMap<string, string>>();
  const following = rules.filter(({ rule }) => rule.forEach === "user" || rule.groupBy === "user");
  for (const projectId of new Set(following.map((open) => open.projectId))) {
    const userIds = arrivals.flatMap((arrival) =>
      arrival.projectId === projectId && arrival.event.userId !== "" ? arrival.event.userId : [],
    );
    persons.set(projectId, await personsOf(transaction, projectId, userIds));
  }
  return persons;
}

/** Opens the values that the step needs, of rules that follow each value by itself. */
async function openValues(
  transaction: Transaction<ControlTables>,
  rules: readonly OpenRule[],
  arrivals: readonly Arrival[],
  due: readonly RuleValueRow[],
  { nowMs, persons }: { nowMs: number | null; persons: PersonsByProject },
): Promise<void> {
  const following = rules.filter(({ rule }) => rule.forEach !== null);
  if (following.length === 0) return;
  const ids = following.map(({ rule }) => rule.id);
  const arriving = new Set(
    following.flatMap(({ projectId, rule }) =>
      arrivals.flatMap((arrival) =>
        arrival.projectId === projectId
          ? (valueOfEvent(rule.forEach!, arrival.event, personsIn(persons, projectId)) ?? [])
          : [],
      ),
    ),
  );
  const known = await readValues(transaction, ids, [...arriving]);
  const counts = arriving.size === 0 ? new Map<string, number>() : await countValues(transaction, ids);
  const byRule = Map.groupBy([...due, ...known], ({ ruleId }) => ruleId);
  for (const open of following) {
    const { id } = open.rule;
    const values = (byRule.get(id) ?? []).map((row) => openValue(row, nowMs));
    open.setValues(values, counts.get(id) ?? 0);
  }
}
