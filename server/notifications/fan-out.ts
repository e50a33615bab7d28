import { lockRules } from "../alerts/rule-lock.ts";
import { lockMembers } from "../projects/members.ts";
import { nextAlertDueAt, takeDueAlerts } from "../rules/due-alerts.ts";
import { followAlerts } from "../rules/follow-alerts.ts";
import { readRuleCohorts } from "../rules/rule-cohorts.ts";
import { RuleSet } from "../rules/rule-set.ts";
import { nextValueDueAt } from "../rules/rule-values.ts";
import { WorkLoop } from "../scheduling/work-loop.ts";
import { ActiveSilences } from "../silences/coverage.ts";
import { beginSilences, type ComparedAlerts, nextSilenceAt } from "../silences/silenced-alerts.ts";
import type { Store } from "../storage/store.ts";
import { makeEmailDigests, nextDigestAt } from "./email-digest.ts";
import { tellHeldMessages } from "./held-messages.ts";
import { nextHourEndAt } from "./hourly-limit.ts";
import { makeDeliveries } from "./make-deliveries.ts";
import { titleOfMatch } from "./notification-message.ts";
import type { RecentEvents } from "./recent-events.ts";

type Deps = {
  store: Pick<Store, "control" | "together" | "rowsOf" | "takeOutbox">;
  events: Pick<RecentEvents, "find">;
  /** Deliveries may have been made, by this node or by another. */
  onMade: () => void;
  onError: (error: unknown) => void;
  now?: () => number;
};

/** About how many deliveries are made in one transaction, which events may wait for. */
const deliveriesPerStep = 200;
const eventsPerStepMax = 200;
/**
 * After a step, the worker rests this many times as long as the step took. While many events arrive, steps take longer,
 * because they wait for events. So the rests are longer too, and ingest loses little.
 */
const restRatio = 16;
const restMsMax = 500;
/** Rules that other nodes or commands change become due without a wake-up, so this is how late they can be. */
const idleMs = 60_000;

/**
 * Applies the rules and the preferences of members: makes the deliveries of events that notify, of what rules find over
 * time, and of digests by email.
 *
 * An event that may notify is stored with an entry in the outbox
 * (https://microservices.io/patterns/data/transactional-outbox.html), so it costs ingest one row, however many members
 * are notified. A step takes entries out, advances the rules' states and makes the deliveries.
 *
 * Invariant: an event's deliveries are made in the transaction that removes its outbox entry, so exactly once. Checked
 * by `server/notifications/fan-out.test.ts`.
 */
export class FanOut extends WorkLoop {
  readonly #deps: Deps;
  readonly #now: () => number;
  /** Deliveries for each event in the last step. */
  #perEvent = 25;
  #isStarting = false;
  /** Of silences that have begun. */
  #compared: ComparedAlerts | null = null;

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

  /** Takes up what is in the outbox, and rules that are due. */
  protected async work(): Promise<void> {
    if (this.#isStarting) await this.#startAgain();
    while (!this.isClosed) {
      const startedAt = performance.now();
      const isLast = await this.#step();
      const stepMs = performance.now() - startedAt;
      this.#deps.onMade();
      if (isLast) return;
      await this.rest(Math.min(stepMs * restRatio, restMsMax));
    }
  }

  /** Rules that became due while the server was down wait for what was sent meanwhile, if that could change them. */
  async #startAgain(): Promise<void> {
    const { control } = this.#deps.store;
    const cohorts = await readRuleCohorts(control, [], this.#now());
    await control.transaction().execute(async (transaction) => {
      await lockRules(transaction);
      const rules = await RuleSet.read(transaction, [], { nowMs: this.#now(), isWhole: true, cohorts });
      rules.startAgain();
      await rules.save(transaction);
    });
    this.#isStarting = false;
  }

  /** Takes the oldest entries out of the outbox. Returns whether these were all. */
  async #step(): Promise<boolean> {
    const limit = Math.min(eventsPerStepMax, Math.max(1, Math.floor(deliveriesPerStep / this.#perEvent)));
    const { control, together, rowsOf, takeOutbox } = this.#deps.store;
    const oldest = await control.selectFrom("outbox").selectAll().orderBy("id").limit(limit).execute();
    if (oldest.length === 0 && !(await this.#isRuleDue())) return this.#passTime();
    const events = await Promise.all(
      oldest.map(({ projectId, eventId }) => this.#deps.events.find(projectId, eventId)),
    );
    const eventOf = new Map(oldest.map(({ id }, index) => [id, events[index]!]));
    const isEmpty = oldest.length < limit;
    const projectIds = oldest.map(({ projectId }) => projectId);
    const cohorts = await readRuleCohorts(control, projectIds, this.#now());
    const made = await together("fan-out", async (transaction) => {
      // A member who leaves the project gets nothing after that.
      await lockMembers(transaction);
      // It also lets only one node at a time take entries.
      await lockRules(transaction);
      const entries = await takeOutbox(transaction, [...eventOf.keys()]);
      const arrivals = entries.flatMap(({ id, projectId, createdAt }) => {
        const event = eventOf.get(id);
        return event ? [{ projectId, event, receivedMs: createdAt }] : [];
      });
      // Time passes for rules only when all events that arrived until then were taken out.
      const rules = await RuleSet.read(transaction, arrivals, {
        nowMs: isEmpty ? this.#now() : null,
        cohorts,
      });
      for (const arrival of arrivals) rules.take(arrival);
      rules.passTime();
      const nowMs = this.#now();
      const sinceMs = Math.min(nowMs, ...rules.matches.map(({ foundMs }) => foundMs));
      const silences = await ActiveSilences.read(transaction, sinceMs, nowMs, cohorts);
      const step = { silences, findEvent: this.#findEvent, nowMs };
      const { told, resolved } = await followAlerts(transaction, rules.matches, titleOfMatch, step);
      if (isEmpty) told.push(...(await takeDueAlerts(transaction, resolved, step)));
      const deliveries = await makeDeliveries(transaction, rowsOf, told, nowMs);
      await rules.save(transaction);
      return { events: entries.length, deliveries };
    });
    if (made.events > 0) this.#perEvent = Math.max(1, made.deliveries / made.events);
    // After the events, because what these add may be due at once.
    return isEmpty && (await this.#passTime());
  }

  readonly #findEvent = (projectId: number, id: string) => this.#deps.events.find(projectId, id);

  /** Begins silences, makes digests, and tells of messages that were held back. Returns whether these were all. */
  async #passTime(): Promise<boolean> {
    const { control } = this.#deps.store;
    const nowMs = this.#now();
    const isDue = (atMs: number | null) => atMs !== null && atMs <= nowMs;
    const silence = isDue(await nextSilenceAt(control));
    const digest = isDue(await nextDigestAt(control));
    const held = isDue(await nextHourEndAt(control));
    if (!silence && !digest && !held) return true;
    const { compared, isLast } = await control.transaction().execute(async (transaction) => {
      await lockMembers(transaction);
      await lockRules(transaction);
      const compared = silence
        ? await beginSilences(transaction, this.#findEvent, nowMs, this.#compared)
        : null;
      const areAllTold = !held || (await tellHeldMessages(transaction, nowMs));
      const areAllMade = !digest || (await makeEmailDigests(transaction, nowMs));
      return { compared, isLast: areAllTold && areAllMade && compared === null };
    });
    this.#compared = compared;
    return isLast;
  }

  async #isRuleDue(): Promise<boolean> {
    const dueAt = await this.#nextDueAt();
    return dueAt !== null && dueAt <= this.#now();
  }

  /** When time has something to change for a rule or an alert. */
  async #nextDueAt(): Promise<number | null> {
    const { control } = this.#deps.store;
    const rule = await control
      .selectFrom("rules")
      .select("dueAt")
      .where("dueAt", "is not", null)
      .orderBy("dueAt")
      .limit(1)
      .executeTakeFirst();
    const others = [await nextValueDueAt(control), await nextAlertDueAt(control)];
    const dueAt = Math.min(rule?.dueAt ?? Infinity, ...others.map((at) => at ?? Infinity));
    return Number.isFinite(dueAt) ? dueAt : null;
  }

  protected async waitMs(): Promise<number> {
    const { control } = this.#deps.store;
    const times = [
      await this.#nextDueAt(),
      await nextDigestAt(control),
      await nextSilenceAt(control),
      await nextHourEndAt(control),
    ];
    const dueAt = Math.min(...times.map((ms) => ms ?? Infinity));
    return Math.min(Math.max(dueAt - this.#now(), 10), idleMs);
  }
}
