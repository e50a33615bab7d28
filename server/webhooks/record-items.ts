import { ProblemError } from "../core/problems.ts";
import type { EventSource } from "../ingest/accepted-event.ts";
import type { Recorder } from "../ingest/record.ts";
import { Turns } from "../scheduling/turns.ts";
import type { MappingInput } from "./expression.ts";
import type { Outcome } from "./kept-requests.ts";
import { eventIdOfRequest, mapRequest } from "./map-request.ts";
import { eventIdOfDelivery } from "./mapping.ts";
import { itemsOf } from "./sources.ts";
import type { WebhookRow } from "./webhooks.ts";

/** Events that are checked before they are recorded together. */
const chunkEvents = 500;

type MappedEvent = Record<string, unknown> & { id: string };

/** What came of a request, and the events that were rejected. */
export type ItemsOutcome = Outcome & {
  rejected: { body: string; problem: ProblemError }[];
  /** Of the first event that is stored; null if none is. */
  storedId: string | null;
};

/**
 * Records the events of a request that has many. Those that are rejected don't affect the others. The outcome is that of
 * the most important: rejected, recorded, duplicate, ignored; its event is the first one. A rejection's id stands for all
 * events that were rejected, so that the same ones are kept once, however often their sender tries, and others too.
 *
 * Throws a problem that the sender should retry, such as `storage-unavailable` and `quota-reached`, even if some events
 * were recorded: their ids stay the same.
 */
export async function recordRequestItems(
  recorder: Recorder,
  webhook: WebhookRow,
  input: MappingInput,
  source: EventSource,
): Promise<ItemsOutcome> {
  const events = await mapItems(webhook, input);
  const rejected: ItemsOutcome["rejected"] = [];
  const rejectedIds: string[] = [];
  let storedId: string | null = null;
  let duplicates = 0;
  for (let start = 0; start < events.length; start += chunkEvents) {
    const chunk = events.slice(start, start + chunkEvents);
    const checked = await recorder.checkAll(chunk, source);
    const outcomes = await recorder.recordAll(checked, source, (count) => {
      duplicates += count;
    });
    const retryable = outcomes.find(isRetryable);
    if (retryable) throw retryable;
    for (const [index, outcome] of outcomes.entries()) {
      const event = chunk[index]!;
      if (outcome instanceof ProblemError) {
        rejected.push({ body: JSON.stringify(event), problem: outcome });
        rejectedIds.push(event.id);
      } else storedId ??= event.id;
    }
  }
  const result = { rejected, storedId, eventId: storedId ?? Bun.randomUUIDv7() };
  const [first] = rejected;
  if (first) {
    const eventId = rejectionIdOf(rejectedIds, webhook);
    return { ...result, outcome: "rejected", eventId, problem: first.problem };
  }
  if (events.length === 0) return { ...result, outcome: "ignored" };
  const settledId = rejectionIdOf(
    events.map(({ id }) => id),
    webhook,
  );
  return { ...result, settledId, outcome: duplicates < events.length ? "recorded" : "duplicate" };
}

/** Of one event, its own. */
function rejectionIdOf(eventIds: string[], webhook: WebhookRow): string {
  return eventIdOfDelivery(eventIds.join(" "), webhook);
}

/** The events of a request, without those that are ignored. Yields to other requests. */
async function mapItems(webhook: WebhookRow, input: MappingInput): Promise<MappedEvent[]> {
  const turns = new Turns(webhook.projectId);
  const events: MappedEvent[] = [];
  for (const [index, body] of itemsOf(webhook.source, input.body).entries()) {
    const item = { body, headers: input.headers };
    const mapped = mapRequest(webhook, item, index);
    if (mapped) {
      const id = typeof mapped.id === "string" ? mapped.id : eventIdOfRequest(webhook, item, index);
      events.push({ ...mapped, id });
    }
    if (turns.isOver) await turns.next();
  }
  return events;
}

function isRetryable(outcome: unknown): outcome is ProblemError {
  return outcome instanceof ProblemError && (outcome.status >= 500 || outcome.status === 429);
}
