import { limits } from "../limits.ts";
import type { Store } from "../storage/store.ts";
import type { FailedAttempt } from "./deliveries.ts";
import type { Delivery } from "./delivery-targets.ts";
import { type FailedDestination, recordHealth, turnOff } from "./destination-health.ts";
import { removeDestination } from "./destinations.ts";
import type { Attempt } from "./send-delivery.ts";
import type { Outcome } from "./transport.ts";

export type SentDelivery = Attempt & { delivery: Delivery };

/** One update for deliveries with the same outcome. */
type Update = { ids: number[]; attempts: number; set: Partial<Delivery> };

const backoffBaseMs = 5_000;
const backoffCapMs = 4 * 60 * 60 * 1_000;
/** A delivery that did not succeed within a day is dead. */
const giveUpMs = 24 * 60 * 60 * 1_000;

/**
 * Records the outcomes of deliveries in one transaction, with what they say about destinations. Returns whether that made
 * deliveries: the owners of a destination that was turned off are told.
 */
export async function recordOutcomes(
  { control, together }: Pick<Store, "control" | "together">,
  sent: readonly SentDelivery[],
  { now, random }: { now: number; random: () => number },
): Promise<boolean> {
  const updates = updatesOf(sent, now, random);
  const called = sent.filter(({ wasCalled, delivery }) => wasCalled && delivery.destinationId !== null);
  const byDestination = Map.groupBy(called, ({ delivery }) => delivery.destinationId!);
  const failed = await together("deliveries", async (transaction) => {
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
    const failed: FailedDestination[] = [];
    for (const [destinationId, attempts] of byDestination) {
      if (attempts[0]!.delivery.accountId !== null) continue;
      const outcomes = attempts.map(({ outcome }) => outcome);
      const found = await recordHealth(transaction, destinationId, outcomes, now);
      if (found) failed.push(found);
    }
    return failed;
  });
  for (const destination of failed) await turnOff(control, destination, now);
  for (const [destinationId, attempts] of byDestination) {
    const gone = attempts.find(({ outcome }) => outcome.kind === "gone");
    if (gone && gone.delivery.accountId !== null)
      await removeDestination(control, destinationId, gone.outcome.detail);
  }
  return failed.length > 0;
}

/** Groups equal updates, one statement for each group. */
function updatesOf(sent: readonly SentDelivery[], now: number, random: () => number): Update[] {
  const updates = new Map<string, Update>();
  for (const { delivery, outcome } of sent) {
    const set = updateOf(delivery, outcome, now, random);
    const { attempts } = delivery;
    const key = JSON.stringify([set, attempts]);
    const existing = updates.get(key);
    if (existing) existing.ids.push(delivery.id);
    else updates.set(key, { ids: [delivery.id], attempts, set });
  }
  return [...updates.values()];
}

function updateOf(
  delivery: Delivery,
  outcome: Outcome,
  now: number,
  random: () => number,
): Partial<Delivery> {
  const { attempts, createdAt } = delivery;
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
  if (outcome.kind !== "retry") return { ...ended, failures, state: "dead" };
  const backoffMs = random() * Math.min(backoffCapMs, backoffBaseMs * 2 ** attempts);
  const nextAttemptAt = Math.round(now + Math.max(backoffMs, outcome.retryAfterMs ?? 0));
  return nextAttemptAt - createdAt > giveUpMs
    ? { ...ended, failures, state: "dead" }
    : { detail: outcome.detail, failures, nextAttemptAt };
}

/** Adds to a delivery's failed attempts, and drops the oldest ones beyond the limit. */
function withFailure({ failures }: Delivery, failure: FailedAttempt): string {
  const earlier: FailedAttempt[] = failures === null ? [] : JSON.parse(failures);
  return JSON.stringify([...earlier, failure].slice(-limits.deliveryFailures));
}
