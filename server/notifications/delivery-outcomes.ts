import { limits } from "../core/limits.ts";
import type { Store } from "../storage/store.ts";
import { removeDestination } from "./account-destinations.ts";
import { followDeadDeliveries } from "./dead-deliveries.ts";
import type { FailedAttempt } from "./deliveries.ts";
import { type HoldingOutcome, holdQueues, holdsOthers } from "./delivery-holds.ts";
import type { Delivery } from "./delivery-targets.ts";
import { type FailedDestination, recordHealth, turnOff } from "./destination-health.ts";
import { isInOrder } from "./kinds/index.ts";
import type { Outcome } from "./kinds/kind.ts";

export type SentDelivery = { delivery: Delivery; outcome: Outcome };

/** One update for deliveries with the same outcome. */
type Update = { ids: number[]; attempts: number; set: Partial<Delivery> };

const backoffBaseMs = 5_000;
const backoffCapMs = 4 * 60 * 60 * 1_000;
/** If other messages wait for it: soon after the receiver works again, all are sent. */
const holdingBackoffCapMs = 5 * 60 * 1_000;
/** A message that failed so often by itself no longer delays those after it. */
const holdingAttemptsMax = 5;
/** A delivery that did not succeed within a day is dead. */
const giveUpMs = 24 * 60 * 60 * 1_000;

/** Effects of recording outcomes by which more may be due. */
type Recorded = { madeDeliveries: boolean; releasedQueues: boolean };

/**
 * Records the outcomes of deliveries in one transaction, with what they say about destinations. The owners of a
 * destination that was turned off are told by further deliveries.
 */
export async function recordOutcomes(
  { control, together }: Pick<Store, "control" | "together">,
  sent: readonly SentDelivery[],
  { now, random }: { now: number; random: () => number },
): Promise<Recorded> {
  const scheduled = sent.map((each) => ({ ...each, dueMs: dueMsOf(each, now, random) }));
  const updates = updatesOf(scheduled, now);
  const queues = queuesOf(scheduled);
  const serial = new Set(
    sent.flatMap(({ delivery }) => (isInOrder(delivery.kind) ? [delivery.destinationId!] : [])),
  );
  const called = sent.filter(({ outcome, delivery }) => isCall(outcome) && delivery.destinationId !== null);
  const byDestination = Map.groupBy(called, ({ delivery }) => delivery.destinationId!);
  const { failed, hasFollowed } = await together("deliveries", async (transaction) => {
    for (const { ids, attempts, set } of updates) {
      await transaction
        .updateTable("deliveries")
        .set(set)
        .where("id", "in", ids)
        // Skips deliveries that were cancelled or claimed again in the meantime, unless they were delivered.
        .$if(set.state !== "delivered", (query) =>
          query.where("state", "=", "waiting").where("attempts", "=", attempts),
        )
        .execute();
    }
    await holdQueues(transaction, queues, (id) => serial.has(id), now);
    // Not those of deleted events, which nobody waits for.
    const dead = scheduled.flatMap(({ delivery, outcome, dueMs }) =>
      isCall(outcome) && outcome.kind !== "delivered" && dueMs === null ? [delivery] : [],
    );
    const failed: FailedDestination[] = [];
    for (const [destinationId, attempts] of byDestination) {
      if (attempts[0]!.delivery.accountId !== null) continue;
      const outcomes = attempts.map(({ outcome }) => outcome);
      const found = await recordHealth(transaction, destinationId, outcomes, now);
      if (found) failed.push(found);
    }
    // After the health, which a success among them resets.
    const hasFollowed = await followDeadDeliveries(transaction, dead, now);
    return { failed, hasFollowed };
  });
  for (const destination of failed) await turnOff(control, destination, now);
  for (const [destinationId, attempts] of byDestination) {
    const gone = attempts.find(({ outcome }) => outcome.kind === "gone");
    if (gone && gone.delivery.accountId !== null)
      await removeDestination(control, destinationId, gone.outcome.detail);
  }
  return { madeDeliveries: hasFollowed || failed.length > 0, releasedQueues: serial.size > 0 };
}

/** Whether the destination had a part in an outcome. */
function isCall({ wasCalled }: Outcome): boolean {
  return wasCalled !== false;
}

type ScheduledDelivery = SentDelivery & {
  /** When it is sent again; null if it isn't. */
  dueMs: number | null;
};

function queuesOf(sent: readonly ScheduledDelivery[]): Map<string, HoldingOutcome[]> {
  const queues = new Map<string, HoldingOutcome[]>();
  for (const { delivery, outcome, dueMs } of sent) {
    if (delivery.destinationId === null) continue;
    const ofQueue = queues.get(delivery.destinationId) ?? [];
    queues.set(delivery.destinationId, [
      ...ofQueue,
      { outcome, dueMs: holdsQueue({ delivery, outcome }) ? dueMs : null },
    ]);
  }
  return queues;
}

/** Whether those after a message wait until it is sent again. */
function holdsQueue({ delivery, outcome }: Pick<SentDelivery, "delivery" | "outcome">): boolean {
  return holdsOthers(outcome) || (isInOrder(delivery.kind) && delivery.attempts < holdingAttemptsMax);
}

/** When a message is sent again, in milliseconds since 1970. Null if it isn't, or if that would be too late. */
function dueMsOf({ delivery, outcome }: SentDelivery, now: number, random: () => number): number | null {
  if (outcome.kind !== "retry") return null;
  const { attempts, createdAt } = delivery;
  const { retryAfterMs, giveUpAfterMs = giveUpMs, cause } = outcome;
  const capMs = cause === undefined ? backoffCapMs : holdingBackoffCapMs;
  const backoffMs = random() * Math.min(capMs, backoffBaseMs * 2 ** attempts);
  // Nobody else waits for this receiver, so a random part would only add to what it asks for.
  const waitMs = cause === "rate-limit" && retryAfterMs !== undefined ? retryAfterMs : backoffMs;
  const dueMs = Math.round(now + Math.max(waitMs, retryAfterMs ?? 0));
  return dueMs - createdAt > giveUpAfterMs ? null : dueMs;
}

/** Groups equal updates, one statement for each group. */
function updatesOf(sent: readonly ScheduledDelivery[], now: number): Update[] {
  const updates = new Map<string, Update>();
  for (const each of sent) {
    const { delivery } = each;
    const set = updateOf(each, now);
    const { attempts } = delivery;
    const key = JSON.stringify([set, attempts]);
    const existing = updates.get(key);
    if (existing) existing.ids.push(delivery.id);
    else updates.set(key, { ids: [delivery.id], attempts, set });
  }
  return [...updates.values()];
}

function updateOf({ delivery, outcome, dueMs }: ScheduledDelivery, now: number): Partial<Delivery> {
  const ended = { detail: outcome.detail, nextAttemptAt: null };
  if (outcome.kind === "delivered") {
    const { reference } = outcome;
    return {
      ...ended,
      state: "delivered",
      deliveredAt: now,
      ...(reference !== undefined && { reference }),
    };
  }
  const failures = withFailure(delivery, { atMs: now, detail: outcome.detail });
  if (dueMs === null) return { ...ended, failures, state: "dead" };
  // In a queue that keeps its order it stays the first, and the queue waits.
  const isFirst = isInOrder(delivery.kind) && holdsQueue({ delivery, outcome });
  return { detail: outcome.detail, failures, nextAttemptAt: isFirst ? delivery.createdAt : dueMs };
}

/** Adds to a delivery's failed attempts, and drops the oldest ones beyond the limit. */
function withFailure({ failures }: Delivery, failure: FailedAttempt): string {
  const earlier: FailedAttempt[] = failures === null ? [] : JSON.parse(failures);
  return JSON.stringify([...earlier, failure].slice(-limits.deliveryFailures));
}
