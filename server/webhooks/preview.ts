import { type Fault, ProblemError } from "../core/problems.ts";
import { checkEvent } from "../event/check-event.ts";
import type { WebhookPreview, WebhookPreviewResponse } from "../schemas/webhook.ts";
import type { MappingInput } from "./expression.ts";
import { mapRequest } from "./map-request.ts";
import { mappingHeaders, parseBody } from "./request-body.ts";
import { mappingFaults } from "./webhooks.ts";

type Preview = Omit<WebhookPreviewResponse, "ok">;

/** What a webhook with these settings would make of a request, with mistakes at the fields of the mapping. */
export function preview(
  { source, channel, mapping }: WebhookPreview,
  readInput: () => MappingInput,
  nowMs: number,
): Preview {
  const faults = mappingFaults(source, mapping);
  if (faults.length > 0) return rejected(faults);
  let input: MappingInput;
  try {
    input = readInput();
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return rejected([{ pointer: "/body", detail: error.options.detail }]);
  }
  const webhook = { id: "", createdAt: 0, source, channel, mapping: mapping && JSON.stringify(mapping) };
  const mapped = mapRequest(webhook, input);
  if (!mapped) return { outcome: "ignored", errors: [] };
  // It depends on the webhook, which may not exist yet.
  const { id: _, ...event } = mapped;
  const checked = checkEvent(event, nowMs);
  if (!Array.isArray(checked))
    return { outcome: "recorded", event: event as WebhookPreviewResponse["event"], errors: [] };
  return rejected(
    checked.map((fault) =>
      mapping === null || fault.pointer === "/channel"
        ? fault
        : { ...fault, pointer: `/mapping${fault.pointer}` },
    ),
  );
}

/** A body that somebody entered, as a sender would send it. Throws what reading a body throws. */
export function enteredInput({ body = "", headers = {} }: WebhookPreview): MappingInput {
  const entered = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    // A mapping couldn't read others.
    if (/^[\w-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value)) entered.set(name, value);
  }
  return {
    body: parseBody(Buffer.from(body), entered.get("content-type")),
    headers: mappingHeaders(entered),
  };
}

function rejected(errors: Fault[]): Preview {
  return { outcome: "rejected", errors };
}
