import type { WebhookMapping, WebhookSource } from "../schemas/webhook.ts";
import type { MappingInput } from "./expression.ts";
import { githubMappings } from "./github.ts";
import { type CompiledMapping, compileMapping } from "./mapping.ts";
import { stripeMappings, stripeValues } from "./stripe.ts";

type Source = {
  /** How the sender tells deliveries apart; null if it doesn't. */
  deliveryIdOf: (input: MappingInput) => string | null;
  /** What `@name` means besides the headers. */
  valuesOf?: (body: unknown) => Record<string, string>;
  /** For webhooks without a mapping of their own. The first one whose condition is met applies. */
  readyMappings?: readonly CompiledMapping[];
};

const sources: Record<WebhookSource, Source> = {
  plain: { deliveryIdOf: ({ headers }) => headers["webhook-id"] ?? null },
  hmac: { deliveryIdOf: () => null },
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
    deliveryIdOf: ({ headers }) => headers["x-github-delivery"] ?? null,
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
