/** Calls operations of the API description, and compares each response with its schema. */
import { expect } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { TestApp } from "./test-app.ts";

type Operation = {
  tags: string[];
  responses: Record<string, { content?: Record<string, unknown>; "x-other-media-types"?: string[] }>;
};
type Description = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};
type Schema = { [keyword: string]: unknown };
type Fields = Record<string, string>;
// biome-ignore lint/suspicious/noExplicitAny: responses are checked against the description, not against types
type Json = any;

export type Call = {
  params?: Fields;
  query?: string;
  body?: unknown;
  headers?: Fields;
  as?: "session" | "key" | "nobody";
};
export type Contract = Awaited<ReturnType<typeof readContract>>;

/** Reads a server's API description. */
export async function readContract(app: TestApp) {
  const description = (await (await app.request("/openapi.json")).json()) as Description;
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema(closed(description, description) as object, "api");
  const succeeded = new Set<string>();

  /** Calls an operation, expects the status, and a body as described; returns the body. */
  async function call(
    at: TestApp,
    session: Fields,
    operation: string,
    expected: number,
    { params = {}, query = "", body, headers = {}, as = "session" }: Call = {},
  ): Promise<Json> {
    const [method, path] = operation.split(" ") as [string, string];
    const declared = description.paths[path]?.[method.toLowerCase()];
    if (!declared) throw new Error(`${operation} is not described.`);
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name]!)) + query;
    const response = await fetch(at.address + url, {
      method,
      headers: {
        ...(as === "session" && session),
        ...(as === "nobody" && { origin: at.address }),
        ...(as === "key" && { "x-api-key": at.key }),
        accept: "application/json, text/event-stream",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const { status } = response;
    const type = response.headers.get("content-type")?.split(";")[0] ?? "";
    let answer: Json = null;
    if (type.endsWith("json")) answer = await response.json();
    else if (type === "text/event-stream") await response.body?.cancel();
    else answer = await response.text();
    expect([operation, status, answer?.detail]).toEqual([operation, expected, answer?.detail]);
    const { content = {}, "x-other-media-types": others = [] } = declared.responses[status] ?? {};
    const types = [...Object.keys(content), ...others];
    if (status === 204) expect([operation, answer, types]).toEqual([operation, "", []]);
    else
      expect([operation, status, type, types]).toEqual([
        operation,
        status,
        type,
        expect.arrayContaining([type]),
      ]);
    // The description has no schema for other media types.
    if (answer !== null && type in content) {
      const place = ["paths", path, method.toLowerCase(), "responses", status, "content", type, "schema"]
        .map((part) => encodeURIComponent(String(part).replaceAll("~", "~0").replaceAll("/", "~1")))
        .join("/");
      const validate = ajv.getSchema(`api#/${place}`)!;
      validate(answer);
      expect({ operation, errors: validate.errors ?? [] }).toEqual({ operation, errors: [] });
    }
    if (response.ok) succeeded.add(operation);
    return answer;
  }

  /** The operations that have never responded with 2xx. */
  function withoutSuccess(): { operation: string; tag: string }[] {
    const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { tags }]) => ({
        operation: `${method.toUpperCase()} ${path}`,
        tag: tags[0]!,
      })),
    );
    return operations.filter(({ operation }) => !succeeded.has(operation));
  }

  let parts: Ajv | null = null;

  /** Returns what of an example contradicts a schema. It may leave out members. */
  function partFaults(name: string, value: unknown): unknown[] {
    parts ??= addFormats(new Ajv({ strict: false, allErrors: true })).addSchema(
      withoutRequired(closed(description, description)) as object,
      "parts",
    );
    const validate = parts.getSchema(`parts#/components/schemas/${name}`);
    if (!validate) throw new Error(`The API description has no schema "${name}".`);
    return validate(withoutEllipses(value)) ? [] : validate.errors!;
  }

  return { call, withoutSuccess, partFaults };
}

/**
 * The description with every object closed: members that it doesn't name are errors, except where it says that there are
 * others. Clients must allow them, so the description itself doesn't forbid them.
 */
function closed(value: unknown, all: Description): unknown {
  if (Array.isArray(value)) return value.map((item) => closed(item, all));
  if (typeof value !== "object" || value === null) return value;
  const { allOf, ...schema } = value as Schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, item]) => [name, closed(item, all)]));
  // What is described in parts is closed as a whole.
  if (Array.isArray(allOf))
    return { ...inner, allOf: allOf.map((part) => open(part, all)), unevaluatedProperties: false };
  const isClosable =
    schema.type === "object" && "properties" in schema && !("additionalProperties" in schema);
  return isClosable ? { ...inner, additionalProperties: false } : inner;
}

/** A part of `allOf`: its members are closed, it isn't. */
function open(part: Schema, all: Description): unknown {
  const name = (part.$ref as string | undefined)?.split("/").at(-1);
  const schema = name === undefined ? part : all.components.schemas[name]!;
  const { additionalProperties: _, ...rest } = closed(schema, all) as Schema;
  return rest;
}

function withoutRequired(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutRequired);
  if (typeof value !== "object" || value === null) return value;
  const { required, ...schema } = value as Schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, item]) => [name, withoutRequired(item)]),
  );
  // A parameter or a body is required or not; a schema names what is.
  return required === undefined || Array.isArray(required) ? inner : { ...inner, required };
}

/** A value without what "…" stands for. */
function withoutEllipses(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== "…").map(withoutEllipses);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([name]) => name !== "…");
  return Object.fromEntries(members.map(([name, inner]) => [name, withoutEllipses(inner)]));
}
