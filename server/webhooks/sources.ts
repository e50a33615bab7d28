import type { WebhookMapping, WebhookSource } from "../wire/webhook.ts";
import type { MappingInput } from "./expression.ts";
import { githubMappings } from "./github.ts";
import { type CompiledMapping, compileMapping } from "./mapping.ts";
import { stripeMappings, stripeValues } from "./stripe.ts";

type Source = {
  /**
   * What tells deliveries apart; null if nothing does.
   *
   * @param bodyHash - of the body as it was sent
   */
  deliveryIdOf: (input: MappingInput, bodyHash: string) => string | null;
  /** What `@name` means besides the headers. */
  valuesOf?: (body: unknown) => Record<string, string>;
  /** For webhooks without a mapping of their own. The first one whose condition is met applies. */
  readyMappings?: readonly CompiledMapping[];
};

/** The sender signs nothing else, so a recorded request could be sent again with any other header. */
const byBody: Source["deliveryIdOf"] = (_, bodyHash) => bodyHash;

const sources: Record<WebhookSource, Source> = {
  plain: { deliveryIdOf: ({ headers }) => headers["webhook-id"] ?? null },
  hmac: { deliveryIdOf: byBody },
  "standard-webhooks": { deliveryIdOf: ({ headers }) => headers["webhook-id"] ?? null },
  stripe: {
    deliveryIdOf({ body }) {
      const id = (body as { id?: unknown } | null)?.id;
      return typeof id === "string" && id !== "" ? id : null;
    },
    valuesOf: stripeValues,
    readyMappings: stripeMappings.map(compileReady),
  },
  github: {
    deliveryIdOf: byBody,
    readyMappings: githubMappings.map(compileReady),
  },
};

export function sourceOf(source: WebhookSource): Source {
  return sources[source];
}

function compileReady(mapping: WebhookMapping): CompiledMapping {
  const compiled = compileMapping(mapping);
  if (Array.isArray(compiled)) throw new Error(compiled[0]!.detail);
  return compiled;
}
