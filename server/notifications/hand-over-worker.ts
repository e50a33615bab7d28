import type { Transaction } from "kysely";
import { lockOnCall } from "../on-call/lock.ts";
import { readMembers, type StoredSchedule, withOverrides } from "../on-call/read-schedules.ts";
import { horizonMs, nextHandOver, onCallAt } from "../on-call/shifts.ts";
import { WorkLoop } from "../scheduling/work-loop.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { formatShortTime } from "./message.ts";
import type { MemberNotice } from "./notification-message.ts";
import { tellMembers } from "./tell-members.ts";

type Deps = {
  store: Pick<Store, "control">;
  /** Deliveries may have been made. */
  onMade: () => void;
  onError: (error: unknown) => void;
  now?: () => number;
};

/** Schedules of one transaction. */
const stepMax = 100;
/** Changes by other nodes wake nobody here, so they are noticed this late at most. */
const idleMs = 60_000;

/**
 * Tells members when they come on call, in the schedules that do so.
 *
 * Invariant: each member who comes on call is told exactly once, over restarts and nodes: a schedule stores who was on
 * call when it was last looked at, which changes in the transaction that makes the deliveries. Checked by
 * `server/notifications/hand-over-worker.test.ts`.
 */
export class HandOverWorker extends WorkLoop {
  readonly #deps: Deps;
  readonly #now: () => number;

  constructor(deps: Deps) {
    super(deps);
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  protected async work(): Promise<void> {
    while (!this.isClosed && (await this.#isDue())) {
      await this.#deps.store.control.transaction().execute((transaction) => this.#step(transaction));
      this.#deps.onMade();
    }
  }

  protected async waitMs(): Promise<number> {
    const dueAt = await this.#nextDueAt();
    return Math.min(Math.max((dueAt ?? Number.POSITIVE_INFINITY) - this.#now(), 10), idleMs);
  }

  async #step(transaction: Transaction<ControlTables>): Promise<void> {
    await lockOnCall(transaction);
    const nowMs = this.#now();
    const rows = await transaction
      .selectFrom("onCallSchedules")
      .selectAll()
      .where("dueAt", "<=", nowMs)
      .orderBy("dueAt")
      .limit(stepMax)
      .execute();
    for (const schedule of await withOverrides(transaction, rows, nowMs)) {
      const { accountId } = onCallAt(schedule.times, nowMs);
      if (accountId !== null && accountId !== schedule.onCallId)
        await tellMembers(transaction, schedule.projectId, await noticeOf(transaction, schedule, nowMs), {
          "members.accountId": accountId,
        });
      await transaction
        .updateTable("onCallSchedules")
        .set({ onCallId: accountId, dueAt: nextHandOver(schedule.times, nowMs)?.atMs ?? nowMs + horizonMs })
        .where("id", "=", schedule.id)
        .execute();
    }
  }

  async #isDue(): Promise<boolean> {
    const dueAt = await this.#nextDueAt();
    return dueAt !== null && dueAt <= this.#now();
  }

  async #nextDueAt(): Promise<number | null> {
    const next = await this.#deps.store.control
      .selectFrom("onCallSchedules")
      .select("dueAt")
      .where("dueAt", "is not", null)
      .orderBy("dueAt")
      .limit(1)
      .executeTakeFirst();
    return next?.dueAt ?? null;
  }
}

async function noticeOf(
  transaction: Transaction<ControlTables>,
  { id, projectId, name, timeZone, onCallId, times }: StoredSchedule,
  nowMs: number,
): Promise<MemberNotice> {
  const memberOf = await readMembers(transaction, projectId);
  const next = nextHandOver(times, nowMs);
  const until =
    next === null
      ? "Nobody takes over from you."
      : `Until ${formatShortTime(next.atMs, timeZone)} (${timeZone}). ${memberOf(next.accountId)?.name ?? "Nobody"} is next.`;
  const before = memberOf(onCallId);
  return {
    type: "on-call",
    atMs: nowMs,
    title: `You are on call: ${name}`,
    detail: before === null ? until : `${until} Before you, it was ${before.name}.`,
    schedule: { id, name },
  };
}
