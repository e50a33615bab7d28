import { OpenAPIHono, z } from "@hono/zod-openapi";
import { type PermissionName, permissions, type Scope } from "../permissions.ts";
import { Problem } from "../wire/problem.ts";
import type { AllowedCallers, DescribedRoute } from "./routes.ts";

type Registry = OpenAPIHono["openAPIRegistry"];
type Document = Parameters<OpenAPIHono["getOpenAPI31Document"]>[0];

/** Returns the OpenAPI 3.1 description of routes. Nothing of it is made before, because it takes five megabytes. */
export function describeApi(routes: DescribedRoute[], about: Document) {
  const app = new OpenAPIHono();
  const registry = app.openAPIRegistry;
  registry.registerComponent("securitySchemes", "apiKey", {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
  });
  registry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  registry.registerComponent("securitySchemes", "session", {
    type: "apiKey",
    in: "cookie",
    name: "tidings.session_token",
  });
  for (const route of routes) register(registry, route);
  return app.getOpenAPI31Document(about);
}

function register(registry: Registry, route: DescribedRoute): void {
  const { method, path, by, tag, summary, description, query, takesTags, response } = route;
  const body = route.body ?? route.optionalBody;
  const isOpen = by === "anyone";
  const isForKeys =
    by === "caller" ||
    by === "sender" ||
    (by in permissions && permissions[by as PermissionName].scope !== null);
  const problems = [
    ...(query || body ? [400] : []),
    ...(isOpen ? [] : [401, 403]),
    ...(body ? [413, 415, 422] : []),
    ...(route.problems ?? []),
  ];
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const tagsParameter = {
    "tag.*": z.string().optional().openapi({
      description: "`tag.KEY=VALUE`: only events with this tag. Repeat it to require several tags.",
    }),
  };
  registry.registerPath({
    method,
    path,
    tags: [tag],
    summary,
    description: [description, requirementOf(by)].filter(Boolean).join("\n\n"),
    security: isOpen
      ? []
      : by === "sender"
        ? [{ apiKey: [] }, { bearer: [] }]
        : isForKeys
          ? [{ apiKey: [] }, { bearer: [] }, { session: [] }]
          : [{ session: [] }],
    request: {
      ...(names.length > 0 && {
        params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))),
      }),
      ...(query && { query: takesTags ? query.extend(tagsParameter) : query }),
      ...(body && {
        body: { required: route.body !== undefined, content: { "application/json": { schema: body } } },
      }),
    },
    responses: {
      [route.status ?? 200]: {
        description: summary,
        content: {
          [route.responseType ?? "application/json"]: { schema: response },
          ...Object.fromEntries(
            route.otherResponseTypes?.map((type) => [type, { schema: z.string() }]) ?? [],
          ),
        },
      },
      ...Object.fromEntries(
        [...new Set(problems)].sort().map((status) => [
          status,
          {
            description: "Problem details (RFC 9457).",
            content: { "application/problem+json": { schema: Problem } },
          },
        ]),
      ),
    },
  });
}

/** What a route's callers need, for the API description. */
function requirementOf(by: AllowedCallers): string {
  if (by === "anyone") return "Needs no credentials.";
  if (by === "account") return "Needs a session.";
  if (by === "sender") return "Needs a publishable key or an API key with the scope `ingest`.";
  if (by === "caller") return "Needs a session, or an API key with the scope `read`.";
  const { role, scope, ...rest }: { role: string; scope: Scope | null; publishable?: true } = permissions[by];
  const member = `the role ${role}`;
  if (scope === null) return `Needs ${member}. API keys can't do this.`;
  const key = rest.publishable ? "a publishable key or one" : "an API key";
  return `Needs ${member}, or ${key} with the scope \`${scope}\`.`;
}
