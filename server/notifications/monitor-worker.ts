import type { ExpressionBuilder, Selectable, Transaction } from "kysely";
import { lockRules } from "../alerts/rule-lock.ts";
import { limits } from "../core/limits.ts";
import { isUnavailable, ProblemError } from "../core/problems.ts";
import { lockMembers } from "../projects/members.ts";
import { followAlerts } from "../rules/follow-alerts.ts";
import { dueReading, type MetricState, metric, onFailure, onReading } from "../rules/metric.ts";
import { applyToValues, endPending } from "../rules/metric-values.ts";
import type { RuleMatch } from "../rules/open-rule.ts";
import { type ReadValue, readMetric } from "../rules/read-metric.ts";
import { minuteMs, type WhenOf } from "../rules/rule-kind.ts";
import type { RuleState } from "../rules/rule-state.ts";
import { ruleOf } from "../rules/rules.ts";
import { withDeadline } from "../scheduling/deadline.ts";
import { FairQueue } from "../scheduling/fair-queue.ts";
import { WorkLoop } from "../scheduling/work-loop.ts";
import { ActiveSilences } from "../silences/coverage.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { makeDeliveries } from "./make-deliveries.ts";
import { titleOfMatch } from "./notification-message.ts";
import type { RecentEvents } from "./recent-events.ts";
import { tellOwners } from "./tell-members.ts";

type Deps = {
  store: Pick<Store, "control" | "together" | "rowsOf" | "events">;
  recentEvents: Pick<RecentEvents, "find">;
  /** Deliveries may have been made. */
  onMade: () => void;
  onError: (error: unknown) => void;
  now?: () => number;
};

type RuleRow = Selectable<ControlTables["rules"]>;
/** A rule that this node reads. `readAt` marks it as its own. */
type Claimed = RuleRow & { readAt: number; timeZone: string };
/** A reading of a rule's metric that was due at `dueMs`: a value, or why it failed. */
type Result = { dueMs: number } & ({ values: Map<string | null, ReadValue> } | { failure: string });

/** Rules that are claimed at a time, in all and of one project. */
const claimedMax = 20;
const claimedOfProject = 3;
/** After this time, another node reads a claimed rule: longer than a project's readings take at most. */
const claimMs = (claimedOfProject + 1) * limits.metricReadingSeconds * 1_000;
/** After claims, readings that end wait so long, so that one look for due rules is for several of them. */
const restMs = 50;
/** Changes by other nodes wake nobody here, so they are noticed this late at most. */
const idleMs = 60_000;
/** No reading is so far ahead. If one is, the clock was set back. */
const aheadMs = 60 * minuteMs;

/**
 * Reads the metrics of rules when they are due, and tells what follows from the values.
 *
 * A reading can take seconds, so it happens outside of transactions, in its project's turn. A node claims a rule by
 * moving `readAt` on. The result is applied in a transaction in which the rule still has that mark, together with its
 * alert and deliveries.
 *
 * Invariant: each reading of a metric changes its rule once, over restarts and nodes, and nothing that was read for a
 * rule that has changed since is applied. Checked by `server/notifications/monitors.test.ts`.
 */
export class MonitorWorker extends WorkLoop {
  readonly #deps: Deps;
  readonly #now: () => number;
  readonly #readings = new Set<Promise<void>>();
  readonly #end = new AbortController();
  readonly #turns = new FairQueue<number>({
    capacity: limits.metricReadings,
    capacityOfOwner: limits.metricReadingsOfProject,
  });
  /** How many rules of each project are claimed. */
  readonly #claimed = new Map<number, number>();
  #isStarting = false;

  constructor(deps: Deps) {
    super(deps);
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /** Begins after the server was down. */
  start(): void {
    this.#isStarting = true;
    this.wake();
  }

  /** Readings that were missed while the server was down wait for events that clients may send again. */
  async #startAgain(): Promise<void> {
    const nowMs = this.#now();
    await this.#deps.store.control.transaction().execute(async (transaction) => {
      await lockRules(transaction);
      const rows = await transaction
        .selectFrom("rules")
        .selectAll()
        // One that another node is reading has a later time.
        .where("readAt", "<=", nowMs)
        .execute();
      for (const row of rows) {
        const before = stateIn(row);
        const state = metric.afterDowntime!(whenOf(row), before, nowMs);
        if (state === before) continue;
        await transaction
          .updateTable("rules")
          .set(columnsOf(state, nowMs))
          .where("id", "=", row.id)
          .execute();
        await endPending(transaction, row.id);
      }
    });
    this.#isStarting = false;
  }

  override async idle(): Promise<void> {
    for (;;) {
      await super.idle();
      if (this.#readings.size === 0) return;
      await Promise.all(this.#readings);
    }
  }

  override async close(): Promise<void> {
    this.#end.abort();
    await super.close();
    await Promise.all(this.#readings);
  }

  /** Begins the readings that are due. Each wakes the loop when it has ended. */
  protected async work(): Promise<void> {
    if (this.#isStarting) await this.#startAgain();
    const claimed = await this.#claim();
    for (const rule of claimed) {
      const { projectId } = rule;
      this.#claimed.set(projectId, (this.#claimed.get(projectId) ?? 0) + 1);
      const reading = this.#read(rule)
        .catch((error) => this.#deps.onError(error))
        .finally(() => {
          this.#readings.delete(reading);
          const left = this.#claimed.get(projectId)! - 1;
          if (left === 0) this.#claimed.delete(projectId);
          else this.#claimed.set(projectId, left);
          this.wake();
        });
      this.#readings.add(reading);
    }
    if (claimed.length > 0) await this.rest(restMs);
  }

  protected async waitMs(): Promise<number> {
    if (!this.#hasRoom()) return idleMs;
    const next = await this.#waiting().orderBy("readAt").limit(1).executeTakeFirst();
    const waitMs = (next?.readAt ?? Number.POSITIVE_INFINITY) - this.#now();
    return Math.min(Math.max(waitMs, 10), idleMs);
  }

  /**
   * Many rules are claimed at a time, because finding them costs more than one of them. A reading that ends wakes the
   * loop.
   */
  #hasRoom(): boolean {
    return this.#readings.size <= claimedMax / 2;
  }

  /** The rules that this node may claim when they are due. */
  #waiting() {
    const full = [...this.#claimed].flatMap(([id, claimed]) => (claimed >= claimedOfProject ? [id] : []));
    return this.#deps.store.control
      .selectFrom("rules")
      .innerJoin("projects", "projects.id", "rules.projectId")
      .select(["rules.id", "projectId", "timeZone", "readAt"])
      .where("readAt", "is not", null)
      .where("deletedAt", "is", null)
      .$if(full.length > 0, (query) => query.where("projectId", "not in", full));
  }

  /** Claims rules that are due, some of each project. */
  async #claim(): Promise<Claimed[]> {
    if (!this.#hasRoom()) return [];
    const nowMs = this.#now();
    const isDue = (eb: ExpressionBuilder<ControlTables, "rules">) =>
      eb.or([eb("readAt", "<=", nowMs), eb("readAt", ">", nowMs + aheadMs)]);
    const due = await this.#waiting().where(isDue).orderBy("readAt").execute();
    const ofProject = new Map(this.#claimed);
    const chosen = due.filter(({ projectId }) => {
      const claimed = ofProject.get(projectId) ?? 0;
      ofProject.set(projectId, claimed + 1);
      return claimed < claimedOfProject;
    });
    if (chosen.length === 0 || this.isClosed) return [];
    const zones = new Map(chosen.map(({ id, timeZone }) => [id, timeZone ?? "UTC"]));
    const readAt = nowMs + claimMs;
    const rows = await this.#deps.store.control
      .updateTable("rules")
      .set({ readAt })
      .where("id", "in", [...zones.keys()].slice(0, claimedMax - this.#readings.size))
      .where(isDue)
      .returningAll()
      .execute();
    return rows.map((row) => ({ ...row, readAt, timeZone: zones.get(row.id)! }));
  }

  async #read(rule: Claimed): Promise<void> {
    const result = await this.#turns.run(rule.projectId, () => this.#resultOf(rule));
    if (result === null) return this.#release(rule);
    if (await this.#saveQuiet(rule, result)) return;
    const { together, rowsOf } = this.#deps.store;
    const isMade = await together("fan-out", async (transaction) => {
      // A member who leaves the project gets nothing after that.
      await lockMembers(transaction);
      await lockRules(transaction);
      const row = await transaction
        .selectFrom("rules")
        .selectAll()
        .where("id", "=", rule.id)
        .where("readAt", "=", rule.readAt)
        .where("q", "=", rule.q)
        .where("condition", "=", rule.condition)
        .executeTakeFirst();
      if (!row) return false;
      const nowMs = this.#now();
      const { state, found, failure } = await apply(transaction, row, result, nowMs);
      await transaction.updateTable("rules").set(columnsOf(state, nowMs)).where("id", "=", row.id).execute();
      if (failure !== null) await tellFailure(transaction, row, failure, nowMs);
      const about = {
        projectId: row.projectId,
        rule: ruleOf(row),
        groupValue: "",
        foundMs: nowMs,
        alertId: null,
      };
      const matches = found.map((each) => ({ ...about, ...each }));
      const { told } = await followAlerts(transaction, matches, titleOfMatch, {
        silences: await ActiveSilences.read(transaction, nowMs, nowMs),
        findEvent: (projectId, id) => this.#deps.recentEvents.find(projectId, id),
        nowMs,
      });
      const made = await makeDeliveries(transaction, rowsOf, told, nowMs);
      return made > 0 || failure !== null;
    });
    if (isMade) this.#deps.onMade();
  }

  /**
   * Saves the state after a reading that tells nobody anything, as most do, in one statement. Returns false if this one
   * does, or the rule has changed since it was claimed.
   */
  async #saveQuiet(rule: Claimed, result: Result): Promise<boolean> {
    if ("failure" in result || rule.forEach !== null) return false;
    const { dueMs, values } = result;
    const { value } = values.get(null)!;
    const { state, notifications } = onReading(whenOf(rule), stateIn(rule), { dueMs, value });
    if (notifications.length > 0) return false;
    const { numUpdatedRows } = await this.#deps.store.control
      .updateTable("rules")
      .set(columnsOf(state, this.#now()))
      .where("id", "=", rule.id)
      .where("readAt", "=", rule.readAt)
      .where("q", "=", rule.q)
      .where("condition", "=", rule.condition)
      .where("state", "=", rule.state)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Null if the worker was closed before there is a result. */
  async #resultOf(rule: Claimed): Promise<Result | null> {
    const { signal } = this.#end;
    if (signal.aborted) return null;
    const { projectId, q, forEach, timeZone } = rule;
    const when = whenOf(rule);
    const { dueMs, endMs } = dueReading(when, stateIn(rule), this.#now());
    try {
      const { events, control } = this.#deps.store;
      const source = { events, projectId, q, when, forEach, timeZone, signal };
      const known = forEach === null ? [] : await knownValues(control, rule.id);
      const values = await withDeadline(signal, () => readMetric(source, endMs, known), {
        seconds: limits.metricReadingSeconds,
      });
      return { dueMs, values };
    } catch (error) {
      if (signal.aborted) return null;
      if (!(error instanceof ProblemError) || isUnavailable(error)) throw error;
      return { dueMs, failure: error.options.detail };
    }
  }

  /** Lets another process read a rule that this one has claimed. */
  async #release({ id, readAt, ...row }: Claimed): Promise<void> {
    await this.#deps.store.control
      .updateTable("rules")
      .set({ readAt: stateIn(row).nextMs })
      .where("id", "=", id)
      .where("readAt", "=", readAt)
      .execute();
  }
}

type Applied = {
  state: MetricState;
  found: Pick<RuleMatch, "value" | "notification">[];
  failure: string | null;
};

/** The state after a reading, what was found, and what the owners are told if readings have failed for long. */
async function apply(
  transaction: Transaction<ControlTables>,
  row: RuleRow,
  result: Result,
  nowMs: number,
): Promise<Applied> {
  const before = stateIn(row);
  if ("failure" in result) return applyFailure(before, result.failure, nowMs);
  const { dueMs, values } = result;
  const when = whenOf(row);
  if (row.forEach === null) {
    const { state, notifications } = onReading(when, before, { dueMs, value: values.get(null)!.value });
    return {
      state,
      found: notifications.map((notification) => ({ value: null, notification })),
      failure: null,
    };
  }
  const { found, ...since } = await applyToValues(transaction, { ...ruleOf(row), when }, result, nowMs);
  // Of the rule itself, only the times are of interest.
  const { state } = onReading(when, before, { dueMs, value: null });
  return { state: { ...state, ...since }, found, failure: null };
}

function applyFailure(before: MetricState, why: string, nowMs: number): Applied {
  const state = onFailure(before, why, nowMs);
  const { sinceMs, isTold } = state.failure!;
  if (isTold || nowMs - sinceMs < limits.metricFailureMinutes * minuteMs)
    return { state, found: [], failure: null };
  return { state: { ...state, failure: { ...state.failure!, isTold: true } }, found: [], failure: why };
}

async function knownValues(control: Store["control"], ruleId: string): Promise<string[]> {
  const rows = await control.selectFrom("ruleValues").select("value").where("ruleId", "=", ruleId).execute();
  return rows.map(({ value }) => value);
}

async function tellFailure(
  transaction: Transaction<ControlTables>,
  { id, name, projectId }: RuleRow,
  why: string,
  atMs: number,
): Promise<void> {
  await tellOwners(transaction, projectId, {
    type: "rule-failing",
    atMs,
    title: `The rule "${name}" can't be checked`,
    detail: `Its metric couldn't be read for ${limits.metricFailureMinutes} minutes. ${why} It is tried again every minute.`,
    rule: { id, name },
  });
}

function whenOf({ condition }: Pick<RuleRow, "condition">): WhenOf<"metric"> {
  return JSON.parse(condition) as WhenOf<"metric">;
}

function stateIn({ state }: Pick<RuleRow, "state">): MetricState {
  return (JSON.parse(state) as RuleState).kind as MetricState;
}

function columnsOf(state: MetricState, nowMs: number) {
  const stored: RuleState = { clockMs: nowMs, kind: state };
  return { state: JSON.stringify(stored), readAt: state.nextMs };
}
