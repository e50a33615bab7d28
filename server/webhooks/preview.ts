import { type Fault, ProblemError } from "../core/problems.ts";
import { checkEvent } from "../event/check-event.ts";
import type { WebhookPreview, WebhookPreviewResponse } from "../schemas/webhook.ts";
import type { MappingInput } from "./expression.ts";
import { mapRequest } from "./map-request.ts";
import { mappingHeaders } from "./request-body.ts";
import { itemsOf, parseBodyOf } from "./sources.ts";
import { mappingFaults } from "./webhooks.ts";

type Preview = Omit<WebhookPreviewResponse, "ok">;

/** What a webhook with these settings would make of a request, with mistakes at the fields of the mapping. */
export async function preview(
  { source, channel, mapping }: WebhookPreview,
  readInput: () => MappingInput | Promise<MappingInput>,
  nowMs: number,
): Promise<Preview> {
  const faults = mappingFaults(source, mapping);
  if (faults.length > 0) return rejected(faults);
  let input: MappingInput | null = null;
  try {
    const request = await readInput();
    // Of a request with many alerts or log lines, the first one is shown.
    const items = itemsOf(source, request.body);
    if (items.length > 0) input = { ...request, body: items[0] };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return rejected([{ pointer: "/body", detail: error.options.detail }]);
  }
  const webhook = { id: "", createdAt: 0, source, channel, mapping: mapping && JSON.stringify(mapping) };
  const mapped = input && mapRequest(webhook, input);
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
export async function enteredInput(
  { source, body = "", headers = {} }: WebhookPreview,
  projectId: number,
): Promise<MappingInput> {
  const entered = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    // A mapping couldn't read others.
    if (/^[\w-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value)) entered.set(name, value);
  }
  return {
    body: await parseBodyOf(source, Buffer.from(body), entered.get("content-type"), projectId),
    headers: mappingHeaders(entered),
  };
}

function rejected(errors: Fault[]): Preview {
  return { outcome: "rejected", errors };
}
