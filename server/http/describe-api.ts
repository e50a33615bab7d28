import { OpenAPIHono, z } from "@hono/zod-openapi";
import { version } from "../config/config.ts";
import { type PermissionName, permissions, type Scope } from "../core/permissions.ts";
import { ConflictProblem, Problem } from "../schemas/problem.ts";
import { operationIdOf } from "./operation-id.ts";
import { type AllowedCallers, type DescribedRoute, problemType } from "./routes.ts";
import { tags } from "./tags.ts";

const jsonType = "application/json";

/** The meaning of a problem's status, for the API description. */
const statusTexts: Record<number, string> = {
  400: "The request can't be read, or its query is invalid.",
  401: "The API key or session is missing or unknown.",
  403: "The caller may not do this.",
  404: "It doesn't exist in this project, or for this account.",
  409: "This conflicts with the current state. The problem says how.",
  412: "The version isn't the one in `If-Match`. The problem has the current one as `current`.",
  413: "The body is too large.",
  415: "The content type or encoding isn't supported.",
  422: "The body is invalid, and `errors` says what to change; or a query would read too much.",
  429: "A rate limit or quota is reached. `Retry-After` says when to try again.",
  502: "Another service did not take the answer.",
  503: "The server can't do this now. Try again.",
  507: "The disk is full. Try again later.",
};

const ifMatch = z.string().optional().openapi({
  description:
    "The `version` that was edited, in quotes. If there is another version by now, nothing is changed. Without it, the change is made in any case.",
  example: '"Zk3x9Qm0aB_dEf12"',
});

/**
 * Has the other media types that `Accept` may request. They aren't in `content`: clients that are generated from it
 * would take every response for an object or a text.
 */
const otherMediaTypes = "x-other-media-types";

type Response = {
  description: string;
  content: Record<string, { schema: z.ZodType }>;
  [otherMediaTypes]?: string[];
};
type Registry = OpenAPIHono["openAPIRegistry"];

/** Returns the OpenAPI 3.1 description of routes. Nothing of it is made before, because it takes five megabytes. */
export function describeApi(routes: DescribedRoute[]): object {
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
  const description = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Tidings",
      version,
      description: "Record, search and stream events, and get notified. Errors are RFC 9457 problem details.",
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: [{ url: "/" }],
    tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
  });
  return withNullableReferences(description) as object;
}

function register(registry: Registry, route: DescribedRoute): void {
  const { method, path, by, tag, summary, description, query, takesTags, response } = route;
  const body = route.body ?? route.optionalBody;
  const isOpen = by === "anyone";
  const isForKeys =
    by === "caller" ||
    by === "sender" ||
    (by in permissions && permissions[by as PermissionName].scope !== null);
  const problems = new Set([
    ...(query || body ? [400] : []),
    ...(isOpen ? [] : [401, 403]),
    ...(route.versioned !== undefined ? [400, 412] : []),
    ...(body ? [413, 415, 422] : []),
    ...(by === "sender" ? [429, 503, 507] : []),
    // It can take too long, and too many others can wait.
    ...(route.method === "get" && query ? [422, 503] : []),
    ...(route.problems ?? []),
  ]);
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const tagsParameter = {
    "tag.*": z.string().optional().openapi({
      description: "`tag.KEY=VALUE`: only events with this tag. Repeat it to require several tags.",
    }),
  };
  const responses: Record<number, Response> = {};
  for (const status of [route.status ?? 200, ...(route.otherStatuses ?? [])]) {
    responses[status] = {
      description: summary,
      content: status === 204 ? {} : { [route.responseType ?? jsonType]: { schema: response } },
      ...(route.otherResponseTypes && { [otherMediaTypes]: route.otherResponseTypes }),
    };
  }
  for (const status of [...problems].toSorted()) {
    const isOfOthers = route.versioned !== undefined && (status === 404 || status === 412);
    const schema = isOfOthers ? ConflictProblem : Problem;
    const ofProblem = Object.entries(route.problemContent ?? { [problemType]: schema });
    const content = {
      ...responses[status]?.content,
      ...Object.fromEntries(ofProblem.map(([type, schema]) => [type, { schema }])),
    };
    responses[status] = { ...responses[status], description: statusTexts[status]!, content };
  }
  registry.registerPath({
    method,
    path,
    operationId: route.operationId ?? operationIdOf(method, path),
    ...(route.deprecated && { deprecated: true }),
    tags: [tag],
    summary,
    description: [description, otherFormsOf(route), requirementOf(by)].filter(Boolean).join("\n\n"),
    security: isOpen
      ? []
      : by === "sender"
        ? [{ apiKey: [] }, { bearer: [] }]
        : isForKeys
          ? [{ apiKey: [] }, { bearer: [] }, { session: [] }]
          : [{ session: [] }],
    request: {
      ...(names.length > 0 && {
        params: z.object(Object.fromEntries(names.map((name) => [name, pathParameter(path, name)]))),
      }),
      ...(route.versioned !== undefined && { headers: z.object({ "if-match": ifMatch }) }),
      ...(query && { query: takesTags ? query.extend(tagsParameter) : query }),
      ...(body && {
        body: {
          required: route.body !== undefined,
          content: Object.fromEntries(
            [jsonType, ...(route.otherBodyTypes ?? [])].map((type) => [
              type,
              { schema: type === jsonType ? body : z.string() },
            ]),
          ),
        },
      }),
    },
    responses,
  });
}

/** The other forms of a response, for the API description, if it doesn't name them itself. */
function otherFormsOf({ otherResponseTypes = [], description = "" }: DescribedRoute): string {
  const others = otherResponseTypes.filter((type) => !description.includes(type));
  return others.length === 0
    ? ""
    : `The response can also be ${others.map((type) => `\`${type}\``).join(" or ")}.`;
}

/** The credentials that a route's callers need, for the API description. */
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

/** A parameter of a path, with what it stands for. */
function pathParameter(path: string, name: string): z.ZodType {
  const noun = path
    .split(`/{${name}}`)[0]!
    .split("/")
    .at(-1)!
    .replace(/ies$/, "y")
    .replace(/s$/, "")
    .replaceAll("-", " ")
    .replace(/^on call$/, "on-call schedule");
  const description = {
    badge: "The badge's token with `.svg`.",
    end: "What the ping says: `start`, `fail`, `log` or an exit status.",
    id: `ID of the ${noun}.`,
    key: /^\/(?:slack|ping)\//.test(path) ? "An API key that may send events." : `Key of the ${noun}.`,
    name: path.startsWith("/s/") ? "A name of your choice, and `.js`." : `Name of the ${noun}.`,
    override: "ID of the override.",
    picture: "The end of the address in the report's message.",
    project: "Slug of the project.",
    publicKey: "The public key of the Discord application, in hexadecimal.",
    request: "ID of the request.",
    slug: path.startsWith("/ping/") ? "Slug of the heartbeat." : "Slug of the project.",
    tileId: "ID of the tile.",
    token: "The last part of the link or address.",
    type: "The type of the group, such as `company`.",
    userId: "The `userId` of events.",
    version: "The hash of a version of the script, and `.js`.",
  }[name];
  if (description === undefined) throw new Error(`The parameter "${name}" of ${path} has no description.`);
  return z.string().openapi({ description });
}

/**
 * A value that is null or a named schema. The generator writes that it is both the schema, which excludes null, and an
 * object or null.
 */
function withNullableReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNullableReferences);
  if (typeof value !== "object" || value === null) return value;
  const { allOf, ...schema } = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withNullableReferences(inner)]),
  );
  if (!Array.isArray(allOf)) return allOf === undefined ? schema : { ...schema, allOf };
  const [reference, { type, ...rest }] = allOf;
  if (allOf.length !== 2 || !Array.isArray(type) || !type.includes("null")) return { ...schema, allOf };
  return { ...schema, anyOf: [reference, { type: "null" }], ...rest };
}
