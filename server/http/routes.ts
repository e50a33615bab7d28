import "../validation/messages.ts";
import { z } from "@hono/zod-openapi";
import { Hono } from "hono";
import { type IfMatch, parseIfMatch } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import type { MemberPermission, PermissionName } from "../core/permissions.ts";
import { clipped, type Fault, type LastChange, ProblemError, pointerTo, problem } from "../core/problems.ts";
import { readQuery } from "../event/event-query.ts";
import { tooExpensive, tooSlow, withDeadline } from "../scheduling/deadline.ts";
import { withoutTilde } from "../schemas/path-segment.ts";
import { readJson } from "./body.ts";
import type { Access, Account, Actor, Caller, CallerLookup, MemberAccess } from "./caller.ts";
import { operationIdOf } from "./operation-id.ts";
import { setRoutePath } from "./request-info.ts";
import type { tags } from "./tags.ts";
import { textResponse } from "./text-response.ts";

export const problemType = "application/problem+json";
const noQuery = z.strictObject({});

/**
 * Who may call a route: those who have a permission in the project of the request, a signed-in account, a key with the
 * scope `read` or an account ("caller"), a key that may send events, wherever the request carries it ("sender"), or
 * anyone. The handler checks a sender, because the key can be in the body.
 *
 * Invariant: each route declares who may call it: a permission, an account, or anyone. Checked by
 * `server/auth/matrix.test.ts`.
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

/** A thing that two people can edit, as the first part of the audit log's actions names it. */
export type VersionedThing =
  | "annotation"
  | "board"
  | "channel"
  | "cohort"
  | "destination"
  | "heartbeat"
  | "key"
  | "member"
  | "on-call"
  | "project"
  | "report"
  | "rule"
  | "silence"
  | "view"
  | "webhook";

/**
 * Finds the last change of something in a project; null if the audit log has none.
 *
 * @param key - what the route's path names it by: an ID, or the name of a channel
 */
type LastChangeLookup = (projectId: number, thing: VersionedThing, key: string) => Promise<LastChange | null>;

type Route<
  By extends AllowedCallers,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  ResponseBody extends z.ZodType,
> = {
  method: "get" | "post" | "put" | "patch" | "delete";
  /** With parameters in braces, as in OpenAPI: `/api/events/{id}`. */
  path: string;
  /** The path that it had before. It still works; the API description calls it deprecated. */
  formerPath?: string;
  deprecated?: true;
  /** The name in the API description. Default: made of method and path. */
  operationId?: string;
  by: By;
  tag: keyof typeof tags;
  summary: string;
  description?: string;
  query?: Query;
  /** Whether the query accepts any number of `tag.KEY=VALUE`. */
  takesTags?: boolean;
  /**
   * It changes what two people can edit, and so takes `If-Match`. Names what it changes as the audit log does; null if
   * the log has nothing about it.
   */
  versioned?: VersionedThing | null;
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
  /** Other media types that `Accept` may request. Their bodies are texts. */
  otherResponseTypes?: string[];
  /** Status codes of problems, besides those that follow from the rest of the declaration. */
  problems?: number[];
  /** Schemas of problems by media type, if they aren't as in RFC 9457. */
  problemContent?: Record<string, z.ZodType>;
};

/** The declaration of any route. */
export type DescribedRoute = Omit<Route<AllowedCallers, z.ZodObject, z.ZodType, z.ZodType>, "query"> & {
  query?: z.ZodObject | undefined;
};

type Call<By extends AllowedCallers, Query extends z.ZodObject, Body extends z.ZodType> = CallerOf<By> & {
  /** The caller, for the audit log. */
  actor: Actor;
  request: Request;
  query: z.infer<Query>;
  /** The versions that the change is meant for, of a route that is `versioned`; of others null. */
  ifMatch: IfMatch;
  tags: [key: string, value: string][];
  body: z.infer<Body>;
  /** Returns a path parameter. */
  parameter: (name: string) => string;
};

/** The body of a response without `ok: true`, which every route adds by itself. */
type Result<ResponseBody> = ResponseBody extends { ok: true } ? Omit<ResponseBody, "ok"> : ResponseBody;

/** A handler returns the result or a whole response, and nothing if `ok: true` is all. */
type Handled<ResponseBody> =
  | Promise<Result<ResponseBody> | Response>
  | (keyof Result<ResponseBody> extends never ? Promise<void> : never);

/**
 * The API's routes. Each is declared once: the declaration determines who may call it, checks its query and body, types
 * its response, and appears in the API description.
 */
export class Routes {
  readonly app = new Hono();
  /** Every route, in the order of declaration. */
  readonly declared: { method: string; path: string; by: AllowedCallers }[] = [];
  /** The declarations, for the API description (`describe-api.ts`). */
  readonly described: DescribedRoute[] = [];
  readonly #lookup: CallerLookup;
  readonly #addressOf: (request: Request) => string | null;
  readonly #setRequestTimeout: (request: Request, seconds: number) => void;
  readonly #lastChangeOf: LastChangeLookup;
  readonly #workSeconds: number;
  readonly #methods = new Map<string, { pattern: RegExp; methods: string[] }>();

  /**
   * @param addressOf - returns the client's address
   * @param setRequestTimeout - closes the connection after this many idle seconds
   * @param workSeconds - how long the work of a request may take
   */
  constructor(
    lookup: CallerLookup,
    addressOf: (request: Request) => string | null,
    setRequestTimeout: (request: Request, seconds: number) => void,
    lastChangeOf: LastChangeLookup,
    workSeconds: number = limits.requestWorkSeconds,
  ) {
    this.#lookup = lookup;
    this.#addressOf = addressOf;
    this.#setRequestTimeout = setRequestTimeout;
    this.#lastChangeOf = lastChangeOf;
    this.#workSeconds = workSeconds;
  }

  /**
   * Adds a route. The handler returns the response's body without `ok: true`, or a `Response` if it isn't plain JSON.
   */
  add<
    By extends AllowedCallers,
    ResponseBody extends z.ZodType,
    Query extends z.ZodObject = z.ZodObject,
    Body extends z.ZodType = z.ZodUndefined,
  >(
    route: Route<By, Query, Body, ResponseBody>,
    handle: (call: Call<By, Query, Body>) => Handled<z.input<ResponseBody>>,
  ): void {
    const { formerPath, ...rest } = route;
    if (formerPath !== undefined) {
      const operationId = `${route.operationId ?? operationIdOf(route.method, route.path)}AtFormerPath`;
      this.add({ ...rest, path: formerPath, operationId, deprecated: true }, handle);
    }
    this.describe(route);
    const saysOk = route.response instanceof z.ZodObject && "ok" in route.response.shape;
    this.app.on(route.method.toUpperCase(), route.path.replace(/\{(\w+)\}/g, ":$1"), async (context) => {
      const request = context.req.raw;
      setRoutePath(request, route.path);
      const caller = await this.#identify(route.by, request, context.req.param("slug"));
      // Health checks, clients of other services and the like may add any parameters.
      const { values, tags } =
        route.query || (route.by !== "anyone" && route.by !== "sender")
          ? readQuery(new URL(request.url).searchParams, route.query ?? noQuery, {
              tags: route.takesTags ?? false,
            })
          : { values: {}, tags: [] };
      const body = route.body ? check(route.body, await readJson(request, limits.requestBytes)) : undefined;
      const ifMatch = this.#ifMatchOf(route, request, caller);
      const parameter = (name: string) => withoutTilde(context.req.param(name)!);
      const actorOf = () => this.#actorOf(request, caller);
      const answer = (): Promise<unknown> =>
        handle({
          ...(caller as CallerOf<By>),
          // Only what the audit log records needs it, and its address takes a while to parse.
          get actor() {
            return actorOf();
          },
          request,
          query: values as z.infer<Query>,
          ifMatch,
          tags,
          body: body as z.infer<Body>,
          parameter,
        }).catch(async (error) => {
          throw ifMatch === null ? error : await this.#withLastChange(error, route, caller, parameter);
        });
      // Events that a sender's body holds have times of their own, since the handler reads it.
      const result = await (route.by === "sender" ? answer() : this.#inTime(route.method, request, answer));
      if (result instanceof Response) return result;
      const init = { status: route.status ?? 200, headers: { "content-type": "application/json" } };
      const text = JSON.stringify(saysOk ? { ok: true, ...(result as object | undefined) } : result);
      // Responses to other methods may contain a new secret, so they are not compressed.
      return route.method === "get" ? textResponse(request, text, init) : new Response(text, init);
    });
  }

  /**
   * Throws `if-match-invalid`, also if a change would ignore it, and `key-insufficient` for keys that may not read what
   * they change: the response would tell.
   */
  #ifMatchOf({ versioned, by, method }: DescribedRoute, request: Request, caller: object): IfMatch {
    const header = request.headers.get("if-match");
    if (header === null || method === "get" || by === "anyone" || by === "sender") return null;
    if (versioned === undefined)
      throw problem("if-match-invalid", { detail: "This can't depend on a version. Omit If-Match." });
    const ifMatch = parseIfMatch(header);
    if (ifMatch !== null && "mayRead" in caller && !caller.mayRead)
      throw problem("key-insufficient", { detail: "If-Match needs a key with the scope read as well." });
    return ifMatch;
  }

  /** Adds to a conflict, or to what is no longer there, who changed it last. Only members learn who. */
  async #withLastChange(
    error: unknown,
    { versioned, path }: DescribedRoute,
    caller: object,
    parameter: (name: string) => string,
  ): Promise<unknown> {
    const { by, projectId } = caller as Partial<Access>;
    const isOfOthers =
      error instanceof ProblemError && (error.code === "changed-meanwhile" || error.status === 404);
    if (!isOfOthers || !versioned || by !== "account" || projectId === undefined) return error;
    const change = await this.#lastChangeOf(projectId, versioned, parameter(/\{(\w+)\}/.exec(path)![1]!));
    return change ? problem(error.code, { ...error.options, change }) : error;
  }

  /** The declared path that a request's path fits, with the methods of all that it fits; null if there is none. */
  allowedAt(path: string): { path: string; methods: string[] } | null {
    const found = [...this.#methods].filter(([, { pattern }]) => pattern.test(path));
    if (found.length === 0) return null;
    const methods = found.flatMap(([, entry]) => entry.methods);
    if (methods.includes("GET")) methods.push("HEAD");
    return { path: found[0]![0], methods: [...new Set(methods)].toSorted() };
  }

  /** Adds a route to the API description. `add` does this by itself. */
  describe(route: DescribedRoute): void {
    const { method, path, by } = route;
    const entry = this.#methods.get(path) ?? {
      pattern: new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
      methods: [],
    };
    entry.methods.push(method.toUpperCase());
    this.#methods.set(path, entry);
    this.declared.push({ method: method.toUpperCase(), path, by });
    this.described.push(route);
  }

  /**
   * Every route but those of senders has the same time, and answers with a problem after that, instead of a closed
   * connection. It begins when the body has arrived, which has a time of its own.
   */
  async #inTime<Result>(method: string, request: Request, answer: () => Promise<Result>): Promise<Result> {
    const seconds = this.#workSeconds;
    this.#setRequestTimeout(request, seconds + limits.requestSeconds);
    try {
      const late = method === "get" ? tooExpensive : tooSlow;
      return await withDeadline(request.signal, answer, { seconds, late });
    } finally {
      // From here on, the client reads the response.
      this.#setRequestTimeout(request, limits.requestSeconds);
    }
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
