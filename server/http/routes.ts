import "../validation/messages.ts";
import { OpenAPIHono, z } from "@hono/zod-openapi";
import { readQuery } from "../event/event-query.ts";
import { limits } from "../limits.ts";
import { type MemberPermission, type PermissionName, permissions, type Scope } from "../permissions.ts";
import { clipped, type Fault, pointerTo, problem } from "../problems.ts";
import { setRoutePath } from "../request-info.ts";
import { Problem } from "../wire/problem.ts";
import { readJson } from "./body.ts";
import type { Access, Account, Actor, Caller, CallerLookup, MemberAccess } from "./caller.ts";
import { operationIdOf } from "./operation-id.ts";
import type { tags } from "./tags.ts";
import { textResponse } from "./text-response.ts";

const noQuery = z.strictObject({});
const jsonType = "application/json";
export const problemType = "application/problem+json";

/** What a problem's status says, for the API description. */
const statusTexts: Record<number, string> = {
  400: "The request can't be read, or its query is invalid.",
  401: "The API key or session is missing or unknown.",
  403: "The caller may not do this.",
  404: "There is no such thing in this project, or for this account.",
  409: "This conflicts with the current state. The problem says how.",
  413: "The body is too large.",
  415: "The content type or encoding isn't supported.",
  422: "The body is invalid. `errors` says what to change.",
  429: "A rate limit or quota is reached. `Retry-After` says when to try again.",
  503: "The server can't do this now. Try again.",
  507: "The disk is full. Try again later.",
};

/**
 * Who may call a route: those who have a permission in the project of the request, a signed-in account, a key with the
 * scope `read` or an account ("caller"), a key that may send events, wherever the request carries it ("sender"), or
 * anyone. The handler checks a sender, because the key can be in the body.
 */
export type AllowedCallers = PermissionName | "account" | "caller" | "sender" | "anyone";

type CallerOf<By extends AllowedCallers> = By extends MemberPermission
  ? MemberAccess
  : By extends PermissionName
    ? Access
    : By extends "account"
      ? { account: Account }
      : By extends "caller"
        ? { caller: Caller }
        : object;

type Route<
  By extends AllowedCallers,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  ResponseBody extends z.ZodType,
> = {
  method: "get" | "post" | "put" | "patch" | "delete";
  /** With parameters in braces, as in OpenAPI: `/api/events/{id}`. */
  path: string;
  /** The name in the API description. Default: made of method and path. */
  operationId?: string;
  by: By;
  tag: keyof typeof tags;
  summary: string;
  description?: string;
  query?: Query;
  /** Whether the query accepts any number of `tag.KEY=VALUE`. */
  takesTags?: boolean;
  body?: Body;
  /** Schema of an optional body, which the handler reads and checks. */
  optionalBody?: z.ZodType;
  /** Other media types of the body. */
  otherBodyTypes?: string[];
  /** Status of a successful response. Default: 200. */
  status?: number;
  /** Other statuses of responses with the same schema. */
  otherStatuses?: number[];
  response: ResponseBody;
  /** Media type of a successful response, if it isn't JSON. */
  responseType?: string;
  /** Other media types that `Accept` may request. */
  otherResponseTypes?: string[];
  /** Status codes of problems, besides those that follow from the rest of the declaration. */
  problems?: number[];
  /** Schemas of problems by media type, if they aren't as in RFC 9457. */
  problemContent?: Record<string, z.ZodType>;
};

type Call<By extends AllowedCallers, Query extends z.ZodObject, Body extends z.ZodType> = CallerOf<By> & {
  /** The caller, for the audit log. */
  actor: Actor;
  request: Request;
  query: z.infer<Query>;
  tags: [key: string, value: string][];
  body: z.infer<Body>;
  /** Returns a path parameter. */
  parameter: (name: string) => string;
};

/**
 * The API's routes. Each is declared once: the declaration determines who may call it, checks its query and body, types
 * its response, and appears in the API description.
 */
export class Routes {
  readonly app = new OpenAPIHono();
  /** Every route, in the order of declaration. */
  readonly declared: { method: string; path: string; by: AllowedCallers }[] = [];
  readonly #lookup: CallerLookup;
  readonly #addressOf: (request: Request) => string | null;
  readonly #methods = new Map<string, { pattern: RegExp; methods: string[] }>();

  /** @param addressOf - returns the client's address */
  constructor(lookup: CallerLookup, addressOf: (request: Request) => string | null) {
    this.#lookup = lookup;
    this.#addressOf = addressOf;
    const { openAPIRegistry } = this.app;
    openAPIRegistry.registerComponent("securitySchemes", "apiKey", {
      type: "apiKey",
      in: "header",
      name: "x-api-key",
    });
    openAPIRegistry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
    openAPIRegistry.registerComponent("securitySchemes", "session", {
      type: "apiKey",
      in: "cookie",
      name: "tidings.session_token",
    });
  }

  /** Adds a route. The handler returns the response's body, or a `Response` if it isn't plain JSON. */
  add<
    By extends AllowedCallers,
    ResponseBody extends z.ZodType,
    Query extends z.ZodObject = z.ZodObject,
    Body extends z.ZodType = z.ZodUndefined,
  >(
    route: Route<By, Query, Body, ResponseBody>,
    handle: (call: Call<By, Query, Body>) => Promise<z.input<ResponseBody> | Response>,
  ): void {
    this.describe(route);
    this.app.on(route.method.toUpperCase(), route.path.replace(/\{(\w+)\}/g, ":$1"), async (context) => {
      const request = context.req.raw;
      setRoutePath(request, route.path);
      const caller = await this.#identify(route.by, request, context.req.param("slug"));
      const { searchParams } = new URL(request.url);
      // Health checks, clients of other services and the like may add any parameters.
      const { values, tags } =
        route.query || (route.by !== "anyone" && route.by !== "sender")
          ? readQuery(searchParams, route.query ?? noQuery, { tags: route.takesTags ?? false })
          : { values: {}, tags: [] };
      const body = route.body ? check(route.body, await readJson(request, limits.requestBytes)) : undefined;
      const result = await handle({
        ...(caller as CallerOf<By>),
        actor: this.#actorOf(request, caller),
        request,
        query: values as z.infer<Query>,
        tags,
        body: body as z.infer<Body>,
        parameter: (name) => context.req.param(name)!,
      });
      if (result instanceof Response) return result;
      const init = { status: route.status ?? 200, headers: { "content-type": "application/json" } };
      const text = JSON.stringify(result);
      // Responses to other methods may contain a new secret, so they are not compressed.
      return route.method === "get" ? textResponse(request, text, init) : new Response(text, init);
    });
  }

  /** The methods of a path; empty if there is no such path. */
  methodsOf(path: string): string[] {
    const methods = [...this.#methods.values()].flatMap((entry) =>
      entry.pattern.test(path) ? entry.methods : [],
    );
    if (methods.includes("GET")) methods.push("HEAD");
    return [...new Set(methods)].toSorted();
  }

  /** Adds a route to the API description. `add` does this by itself. */
  describe(
    route: Omit<Route<AllowedCallers, z.ZodObject, z.ZodType, z.ZodType>, "query"> & {
      query?: z.ZodObject | undefined;
    },
  ): void {
    const { method, path, by, tag, summary, description, query, takesTags, response } = route;
    const entry = this.#methods.get(path) ?? {
      pattern: new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
      methods: [],
    };
    entry.methods.push(method.toUpperCase());
    this.#methods.set(path, entry);
    this.declared.push({ method: method.toUpperCase(), path, by });
    const body = route.body ?? route.optionalBody;
    const isOpen = by === "anyone";
    const isForKeys =
      by === "caller" ||
      by === "sender" ||
      (by in permissions && permissions[by as PermissionName].scope !== null);
    const problems = new Set([
      ...(query || body ? [400] : []),
      ...(isOpen ? [] : [401, 403]),
      ...(body ? [413, 415, 422] : []),
      ...(by === "sender" ? [429, 503, 507] : []),
      ...(route.problems ?? []),
    ]);
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    const tagsParameter = {
      "tag.*": z.string().optional().openapi({
        description: "`tag.KEY=VALUE`: only events with this tag. Repeat it to require several tags.",
      }),
    };
    const responses: Record<number, { description: string; content: Record<string, { schema: z.ZodType }> }> =
      {};
    for (const status of [route.status ?? 200, ...(route.otherStatuses ?? [])]) {
      const types = [route.responseType ?? jsonType, ...(route.otherResponseTypes ?? [])];
      const content = types.map((type, index) => [type, { schema: index === 0 ? response : z.string() }]);
      responses[status] = { description: summary, content: Object.fromEntries(content) };
    }
    for (const status of [...problems].toSorted()) {
      const ofProblem = Object.entries(route.problemContent ?? { [problemType]: Problem });
      const content = {
        ...responses[status]?.content,
        ...Object.fromEntries(ofProblem.map(([type, schema]) => [type, { schema }])),
      };
      responses[status] = { description: statusTexts[status]!, content };
    }
    this.app.openAPIRegistry.registerPath({
      method,
      path,
      operationId: route.operationId ?? operationIdOf(method, path),
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
          params: z.object(Object.fromEntries(names.map((name) => [name, pathParameter(path, name)]))),
        }),
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

  async #identify(
    by: AllowedCallers,
    request: Request,
    slug?: string,
  ): Promise<Access | { account: Account } | { caller: Caller } | object> {
    switch (by) {
      case "account":
        return { account: await this.#lookup.toAccount(request) };
      case "caller":
        return { caller: await this.#lookup.toCaller(request) };
      case "anyone":
      case "sender":
        return {};
      default:
        return this.#lookup.toProject(request, by, slug);
    }
  }

  #actorOf(request: Request, caller: Partial<Access> | { account?: Account; caller?: Caller }): Actor {
    const from = { address: this.#addressOf(request), userAgent: request.headers.get("user-agent") };
    const who = "caller" in caller && caller.caller ? caller.caller : (caller as Partial<Access>);
    if ("account" in who && who.account)
      return { kind: "account", id: who.account.id, name: who.account.email, ...from };
    if (who.by === "key") return { kind: "key", id: who.keyId!, name: who.keyName!, ...from };
    return { kind: "nobody", id: null, name: null, ...from };
  }
}

function check(schema: z.ZodType, body: unknown): unknown {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap((issue): Fault[] => {
    const path = issue.path.map(String);
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        pointer: pointerTo(...path, key),
        detail: `Unknown field "${clipped(key)}".`,
      }));
    }
    const isMissing = issue.code === "invalid_type" && valueAt(body, issue.path) === undefined;
    const subject = issue.path.length === 0 ? "The body" : `"${clipped(path.join("."))}"`;
    return [
      { pointer: pointerTo(...path), detail: `${subject} ${isMissing ? "is missing" : issue.message}.` },
    ];
  });
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  throw problem("body-invalid", { detail: `${errors[0]!.detail}${more}`, errors });
}

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, part) => (inner as { [Part in PropertyKey]?: unknown } | null)?.[part],
    value,
  );
}

/** A parameter of a path, with what it stands for. */
function pathParameter(path: string, name: string): z.ZodType {
  const noun = path
    .split(`/{${name}}`)[0]!
    .split("/")
    .at(-1)!
    .replace(/ies$/, "y")
    .replace(/s$/, "")
    .replaceAll("-", " ");
  const description = {
    id: `ID of the ${noun}.`,
    key: path.startsWith("/slack/") ? "An API key that may send events." : `Key of the ${noun}.`,
    name: `Name of the ${noun}.`,
    project: "Slug of the project.",
    request: "ID of the request.",
    slug: "Slug of the project.",
    tileId: "ID of the tile.",
    token: "The last part of the link or address.",
    userId: "The `userId` of events.",
  }[name];
  if (description === undefined) throw new Error(`The parameter "${name}" of ${path} has no description.`);
  return z.string().openapi({ description });
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
