import type { Kysely } from "kysely";
import type { EventSource } from "../ingest/accepted-event.ts";
import type { Recorder } from "../ingest/record.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { changeOutcome, inputOf, type RequestRow } from "./kept-requests.ts";
import { mapRequest } from "./map-request.ts";
import type { Received } from "./receive.ts";
import { recordRequestItems } from "./record-items.ts";
import { sourceOf } from "./sources.ts";
import type { WebhookRow } from "./webhooks.ts";

/**
 * Maps a kept request again, with the webhook's present mapping. Its event has the id that it had when the request
 * arrived, so it is recorded once, also if the sender tries again or somebody resends the rejected event.
 *
 * Throws what recording throws, and `body-invalid` if the body was too long to keep.
 */
export async function resendRequest(
  { control, recorder }: { control: Kysely<ControlTables>; recorder: Recorder },
  webhook: WebhookRow,
  request: RequestRow,
  source: EventSource,
): Promise<Received> {
  const { id, eventId } = request;
  if (request.outcome === "recorded" || request.outcome === "duplicate")
    return { outcome: "duplicate", id: eventId };
  if (sourceOf(webhook.source).batch) return resendItems(recorder, control, webhook, request, source);
  const mapped = mapRequest(webhook, inputOf(request));
  if (!mapped) {
    await changeOutcome(control, id, { outcome: "ignored", eventId });
    return { outcome: "ignored" };
  }
  const { isNew } = await recorder.record({ ...mapped, id: eventId }, source);
  const outcome = isNew ? "recorded" : "duplicate";
  await changeOutcome(control, id, { outcome, eventId });
  return { outcome, id: eventId };
}

/** Events of the request that were recorded before have the same ids, so only the others are recorded. */
async function resendItems(
  recorder: Recorder,
  control: Kysely<ControlTables>,
  webhook: WebhookRow,
  request: RequestRow,
  source: EventSource,
): Promise<Received> {
  const { outcome, eventId, problem } = await recordRequestItems(recorder, webhook, inputOf(request), source);
  if (problem || outcome === "rejected") throw problem;
  await changeOutcome(control, request.id, { outcome, eventId });
  return outcome === "ignored" ? { outcome } : { outcome, id: eventId };
}
