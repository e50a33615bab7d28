import type { Kysely, Selectable, Transaction } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Outcome } from "./kinds/kind.ts";

type Hold = Omit<Selectable<ControlTables["deliveryQueues"]>, "destinationId">;

/** An outcome of the queue's messages, and when its message is due again, in milliseconds since 1970. */
export type HoldingOutcome = { outcome: Outcome; dueMs: number | null };

/** Between two messages to a receiver that has answered "too many": as long as it asks for, within these bounds. */
const [firstPaceMsMin, firstPaceMsMax, firstPaceMsDefault] = [200, 5_000, 1_000];
/** If that was too fast, twice as long, up to this. */
const paceMsMax = 60_000;
/** After so long without messages, a pace is forgotten. */
const paceForgottenMs = 60_000;

/**
 * Takes queues whose messages are sent one at a time, so that nobody else sends from them before `untilMs`. Returns those
 * that were free.
 *
 * Invariant: a chat gets one message at a time, in order, from all nodes: who sends from such a queue has taken it.
 * When a receiver asks for a pause, its whole queue waits, in a row that outlives the process. Checked by
 * `server/notifications/project-deliveries.test.ts`.
 */
export async function takeQueues(
  control: Kysely<ControlTables>,
  destinationIds: readonly string[],
  nowMs: number,
  untilMs: number,
): Promise<Set<string>> {
  if (destinationIds.length === 0) return new Set();
  const rows = await control
    .insertInto("deliveryQueues")
    .values(destinationIds.map((destinationId) => ({ destinationId, heldUntil: untilMs })))
    .onConflict((conflict) =>
      conflict
        .column("destinationId")
        .doUpdateSet({ heldUntil: untilMs })
        .where("deliveryQueues.heldUntil", "<=", nowMs),
    )
    .returning("destinationId")
    .execute();
  return new Set(rows.map(({ destinationId }) => destinationId));
}

/** Lets others send from queues that were taken. */
export async function releaseQueues(
  control: Kysely<ControlTables>,
  destinationIds: readonly string[],
): Promise<void> {
  if (destinationIds.length === 0) return;
  await control
    .updateTable("deliveryQueues")
    .set({ heldUntil: 0 })
    .where("destinationId", "in", destinationIds)
    .execute();
}

/**
 * Holds queues, or releases those that were taken, after outcomes of their messages.
 *
 * @param isInOrder - whether a destination's messages are sent one at a time
 */
export async function holdQueues(
  transaction: Transaction<ControlTables>,
  outcomes: ReadonlyMap<string, readonly HoldingOutcome[]>,
  isInOrder: (destinationId: string) => boolean,
  nowMs: number,
): Promise<void> {
  if (outcomes.size === 0) return;
  const rows = await transaction
    .selectFrom("deliveryQueues")
    .selectAll()
    .where("destinationId", "in", [...outcomes.keys()])
    .execute();
  const holds = new Map(rows.map(({ destinationId, ...hold }) => [destinationId, hold]));
  for (const [destinationId, ofQueue] of outcomes) {
    const before = holds.get(destinationId) ?? null;
    const hold = holdAfter(before, isInOrder(destinationId), ofQueue, nowMs);
    if (hold === null) continue;
    await transaction
      .insertInto("deliveryQueues")
      .values({ destinationId, ...hold })
      .onConflict((conflict) => conflict.column("destinationId").doUpdateSet(hold))
      .execute();
  }
}

/** How a queue waits after outcomes of its messages; null if that stays as it is. */
function holdAfter(
  before: Hold | null,
  isInOrder: boolean,
  outcomes: readonly HoldingOutcome[],
  nowMs: number,
): Hold | null {
  const wasTaken = isInOrder || (before?.paceMs ?? null) !== null;
  const holding = outcomes.filter(
    ({ outcome, dueMs }) => dueMs !== null && (isInOrder || holdsOthers(outcome)),
  );
  if (!wasTaken && holding.length === 0) return null;
  const paceMs = paceAfter(before, outcomes, nowMs);
  const untilMs = Math.max(nowMs + (paceMs ?? 0), ...holding.map(({ dueMs }) => dueMs!));
  return {
    heldUntil: wasTaken ? untilMs : Math.max(untilMs, before?.heldUntil ?? 0),
    paceMs,
    pacedAt: paceMs === null ? null : nowMs,
  };
}

function paceAfter(before: Hold | null, outcomes: readonly HoldingOutcome[], nowMs: number): number | null {
  const isForgotten = before?.pacedAt != null && nowMs - before.pacedAt > paceForgottenMs;
  const paceMs = isForgotten ? null : (before?.paceMs ?? null);
  const limited = outcomes.filter(
    ({ outcome }) => outcome.kind === "retry" && outcome.cause === "rate-limit",
  );
  if (limited.length === 0) return paceMs;
  if (paceMs === null) {
    const asked = limited.flatMap(({ outcome }) =>
      outcome.kind === "retry" && outcome.retryAfterMs !== undefined ? [outcome.retryAfterMs] : [],
    );
    const firstMs = asked.length === 0 ? firstPaceMsDefault : Math.max(...asked);
    return Math.min(Math.max(firstMs, firstPaceMsMin), firstPaceMsMax);
  }
  // Messages that were under way when the pace was set don't count.
  return nowMs - before!.pacedAt! < paceMs ? paceMs : Math.min(paceMs * 2, paceMsMax);
}

/** Whether an outcome says that other messages would not be accepted now either. */
export function holdsOthers(outcome: Outcome): boolean {
  return outcome.kind === "retry" && outcome.cause !== undefined;
}
