import { type Selectable, sql } from "kysely";
import { limits } from "../core/limits.ts";
import { isUnavailable, ProblemError } from "../core/problems.ts";
import { requestSignal, withDeadline } from "../scheduling/deadline.ts";
import { FairQueue } from "../scheduling/fair-queue.ts";
import { nextTurn } from "../scheduling/turns.ts";
import { WorkLoop } from "../scheduling/work-loop.ts";
import { rememberMembers } from "../storage/cohort-members.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { peopleChanges, readPeopleChanges } from "../storage/people-changes.ts";
import type { Store } from "../storage/store.ts";
import type { UserActivity } from "../users/user-activity.ts";
import { draftOf } from "./cohorts.ts";
import { findPeople } from "./find-people.ts";
import { removeCohort } from "./remove-cohort.ts";
import { storeMembers } from "./store-members.ts";

type CohortRow = Selectable<ControlTables["cohorts"]>;
/** A cohort that this node computes. `dueAt` marks it as its own. */
type Claimed = CohortRow;

/** Cohorts that are claimed at a time. */
const claimedMax = 10;
/** After this time, another node computes a claimed cohort. */
const claimMs = 2 * limits.cohortSeconds * 1_000;
/** Nobody is woken when people change, nor by other nodes: that is noticed this late at most. */
const idleMs = limits.cohortRefreshSeconds * 1_000;
/** No cohort is due so far ahead. If one is, the clock was set back. */
const aheadMs = 60 * 60 * 1_000;
/** A cohort is computed for a twentieth of the time at most. */
const restRatio = 20;
/** How long it waits for the newest events to be counted for the list of users. */
const updateMs = 250;

type Deps = {
  store: Store;
  userActivity: Pick<UserActivity, "update">;
  onError: (error: unknown) => void;
  now?: () => number;
};

/**
 * Computes who is in cohorts, each about every half minute while its project's people change or their events become too
 * old, in the project's turn. A node claims a cohort by moving `dueAt` on. If it fails, the cohort keeps its members, and
 * says why.
 *
 * Invariant: the members of a cohort are those whom its conditions described at `computedAt`, and at any later time at
 * which it is due and need not be computed. Checked by `server/cohorts/members.test.ts` and
 * `server/cohorts/idle-cohorts.test.ts`.
 */
export class CohortWorker extends WorkLoop {
  readonly #deps: Deps;
  readonly #now: () => number;
  readonly #end = new AbortController();
  readonly #computing = new Map<string, Promise<void>>();
  readonly #turns = new FairQueue<number>({
    capacity: limits.cohortsComputing,
    capacityOfOwner: limits.cohortsComputingOfProject,
  });

  constructor(deps: Deps) {
    super(deps);
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /** Resolves when a cohort that was just created or changed has its members, or after a while. */
  async computed(id: string, withinMs: number): Promise<void> {
    this.wake();
    const { control } = this.#deps.store;
    for (const endMs = performance.now() + withinMs; performance.now() < endMs && !this.isClosed; ) {
      const row = await control
        .selectFrom("cohorts")
        .select(["updatedAt", "computedAt", "failure"])
        .where("id", "=", id)
        .executeTakeFirst();
      if (!row || row.failure !== null || (row.computedAt !== null && row.computedAt >= row.updatedAt))
        return;
      await Promise.race([
        Bun.sleep(Math.max(endMs - performance.now(), 1)),
        Bun.sleep(20).then(() => this.#computing.get(id)),
      ]);
    }
  }

  override async idle(): Promise<void> {
    for (;;) {
      await super.idle();
      if (this.#computing.size === 0) return;
      await Promise.all(this.#computing.values());
    }
  }

  override async close(): Promise<void> {
    this.#end.abort();
    await super.close();
    await Promise.all(this.#computing.values());
  }

  /** Begins with the cohorts that are due. Each wakes the loop when it has ended. */
  protected async work(): Promise<void> {
    for (const row of await this.#claim()) {
      const computing = this.#compute(row)
        .catch((error) => this.#deps.onError(error))
        .finally(() => {
          this.#computing.delete(row.id);
          this.wake();
        });
      this.#computing.set(row.id, computing);
    }
  }

  protected async waitMs(): Promise<number> {
    if (this.#computing.size >= claimedMax) return idleMs;
    const computing = [...this.#computing.keys()];
    const nowMs = this.#now();
    // What is due already has just been looked at.
    const next = await this.#waiting()
      .select("dueAt")
      .where("dueAt", ">", nowMs)
      .$if(computing.length > 0, (query) => query.where("cohorts.id", "not in", computing))
      .orderBy("dueAt")
      .limit(1)
      .executeTakeFirst();
    const waitMs = (next?.dueAt ?? Number.POSITIVE_INFINITY) - nowMs;
    return Math.min(Math.max(waitMs, 10), idleMs);
  }

  /** The cohorts of projects that exist, with those that were deleted. */
  #waiting() {
    return this.#deps.store.control
      .selectFrom("cohorts")
      .innerJoin("projects", "projects.id", "cohorts.projectId")
      .where("projects.deletedAt", "is", null);
  }

  async #claim(): Promise<Claimed[]> {
    const free = claimedMax - this.#computing.size;
    if (free <= 0) return [];
    const nowMs = this.#now();
    const due = await this.#waiting()
      .select(["cohorts.id", "dueAt"])
      .where((eb) => eb.or([eb("dueAt", "<=", nowMs), eb("dueAt", ">", nowMs + aheadMs)]))
      .where((eb) =>
        eb.or([
          eb("cohorts.deletedAt", "is not", null),
          eb("computedChanges", "is", null),
          eb("computedChanges", "!=", peopleChanges(sql.ref("cohorts.projectId"))),
          eb("changesAt", "<=", nowMs),
          // The clock was set back.
          eb("computedAt", ">", nowMs),
        ]),
      )
      .orderBy("dueAt")
      .limit(free)
      .execute();
    const claimed: Claimed[] = [];
    for (const { id, dueAt } of due) {
      if (this.isClosed || this.#computing.has(id)) continue;
      const row = await this.#deps.store.control
        .updateTable("cohorts")
        .set({ dueAt: nowMs + claimMs })
        .where("id", "=", id)
        .where("dueAt", "=", dueAt)
        .returningAll()
        .executeTakeFirst();
      if (row) claimed.push(row);
    }
    return claimed;
  }

  async #compute(row: Claimed): Promise<void> {
    const { signal } = this.#end;
    await this.#turns.run(row.projectId, async () => {
      if (row.deletedAt !== null)
        return removeCohort(this.#deps.store, row.id, () => nextTurn(row.projectId));
      if (signal.aborted) return this.#finish(row, { dueAt: this.#now() });
      const startedMs = performance.now();
      try {
        await withDeadline(signal, () => this.#update(row), { seconds: limits.cohortSeconds });
      } catch (error) {
        if (signal.aborted) return this.#finish(row, { dueAt: this.#now() });
        const isExpected = error instanceof ProblemError && !isUnavailable(error);
        const tookMs = Math.ceil(performance.now() - startedMs);
        const failure = isExpected ? error.options.detail : "The server failed. Its log says why.";
        await this.#finish(row, {
          failure,
          tookMs,
          dueAt: this.#dueAfter(tookMs),
          computedChanges: null,
        });
        if (!isExpected) throw error;
      }
    });
  }

  async #update(row: Claimed): Promise<void> {
    const { store, userActivity } = this.#deps;
    await userActivity.update(updateMs);
    // Before anything else is read: what changes meanwhile may be in the result or not.
    const computedChanges = await readPeopleChanges(store.control, row.projectId);
    const nowMs = this.#now();
    const startedMs = performance.now();
    const signal = requestSignal() ?? this.#end.signal;
    const { people, changesAt } = await findPeople(store, row.projectId, draftOf(row), { nowMs, signal });
    const { isOver, revision } = await storeMembers(store, row, people);
    if (isOver) return;
    const ids = [...people.values()].flat();
    if (revision !== null) await rememberMembers(row.projectId, revision, ids);
    const tookMs = Math.ceil(performance.now() - startedMs);
    await this.#finish(row, {
      people: people.size,
      ids: ids.length,
      computedAt: nowMs,
      tookMs,
      failure: null,
      dueAt: this.#dueAfter(tookMs),
      computedChanges,
      changesAt: Number.isFinite(changesAt) ? changesAt : null,
    });
  }

  #dueAfter(tookMs: number): number {
    return this.#now() + Math.max(limits.cohortRefreshSeconds * 1_000, tookMs * restRatio);
  }

  /** Stores a result, unless the cohort was changed or claimed anew meanwhile. */
  async #finish({ id, dueAt, condition }: Claimed, result: Partial<CohortRow>): Promise<void> {
    await this.#deps.store.control
      .updateTable("cohorts")
      .set(result)
      .where("id", "=", id)
      .where("dueAt", "=", dueAt)
      .where("condition", "=", condition)
      .execute();
  }
}
