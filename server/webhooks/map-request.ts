import { LRUCache } from "lru-cache";
import type { WebhookMapping } from "../schemas/webhook.ts";
import type { MappingInput } from "./expression.ts";
import { type CompiledMapping, compileMapping, eventIdOfDelivery, mapEvent } from "./mapping.ts";
import { sourceOf } from "./sources.ts";
import type { WebhookRow } from "./webhooks.ts";

type Mapped = Pick<WebhookRow, "id" | "createdAt" | "source" | "channel" | "mapping">;

/** By their JSON. */
const compiledMappings = new LRUCache<string, CompiledMapping>({ max: 200, memoMethod: compileStored });

/**
 * The event's body that a webhook makes of a request; null if it ignores the request.
 *
 * @param index - the place of an item in a request that has many
 */
export function mapRequest(webhook: Mapped, input: MappingInput, index = 0): Record<string, unknown> | null {
  const { source, channel, mapping } = webhook;
  const { valuesOf, readyMappings = [] } = sourceOf(source);
  const values = valuesOf ? { ...input.headers, ...valuesOf(input.body) } : input.headers;
  const mappings = mapping === null ? readyMappings : [compiledMappings.memo(mapping)];
  const mapped = mapEvent(mappings, { body: input.body, headers: values }, channel);
  if (!mapped) return null;
  const deliveryId = mapped.deliveryId ?? sourceOf(source).deliveryIdOf(input, index);
  return deliveryId === null
    ? mapped.fields
    : { ...mapped.fields, id: eventIdOfDelivery(deliveryId, webhook) };
}

/** The id of the event that a request becomes if its mapping names none. */
export function eventIdOfRequest(webhook: Mapped, input: MappingInput, index = 0): string {
  const deliveryId = sourceOf(webhook.source).deliveryIdOf(input, index);
  return deliveryId === null ? Bun.randomUUIDv7() : eventIdOfDelivery(deliveryId, webhook);
}

function compileStored(json: string): CompiledMapping {
  const mapping = compileMapping(JSON.parse(json) as WebhookMapping);
  if (Array.isArray(mapping)) throw new Error(`A stored mapping is invalid: ${mapping[0]!.detail}`);
  return mapping;
}
