/** What holds for every noun of the API: its pages, ids, status codes and errors. Names each operation that differs. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { projectKinds as kinds } from "../notifications/kinds/index.ts";
import { projectDestinationKinds } from "../schemas/destination-kinds.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  minimum?: number;
  maximum?: number;
  default?: unknown;
  description?: string;
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
};
type Operation = {
  deprecated?: true;
  operationId: string;
  parameters?: { name: string; in: string; description?: string; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
};
type Named = Operation & { name: string; method: string; path: string };

let app: TestApp;
let schemas: Record<string, Schema>;
/** Operations of our own API. Clients of other services decide what their endpoints look like. */
let operations: Named[];

beforeAll(async () => {
  app = await testApp();
  const description = (await (await app.request("/openapi.json")).json()) as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  };
  schemas = description.components.schemas;
  operations = Object.entries(description.paths)
    .filter(([path]) => path.startsWith("/api/"))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const name = `${method.toUpperCase()} ${path}`;
        return { ...operation, name, method: method.toUpperCase(), path };
      }),
    );
});
afterAll(() => app[Symbol.asyncDispose]());

const namesOf = (some: Named[]) => some.map(({ name }) => name);
const parameterOf = ({ parameters = [] }: Operation, name: string) =>
  parameters.find((parameter) => parameter.name === name);
const isStreamed = ({ path }: Named) => path === "/api/events" || path === "/api/audit";

function resolved(schema: Schema): Schema {
  return schema.$ref ? schemas[schema.$ref.split("/").at(-1)!]! : schema;
}

/** The schema of a JSON response. */
function responseOf({ responses }: Operation, status = "200"): Schema | undefined {
  const schema = responses[status]?.content?.["application/json"]?.schema;
  return schema && resolved(schema);
}

/** The name of the schema of a JSON response. */
function responseName({ responses }: Operation, status = "200"): string | undefined {
  return responses[status]?.content?.["application/json"]?.schema.$ref?.split("/").at(-1);
}

/** Calls `visit` for a schema and all that it contains, each with the name of the property that it is of. */
function walk(
  schema: Schema,
  visit: (schema: Schema, name: string | null) => void,
  name: string | null = null,
) {
  visit(schema, name);
  for (const [key, inner] of Object.entries(schema.properties ?? {})) walk(inner, visit, key);
  for (const inner of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    walk(inner, visit, name);
  if (schema.items) walk(schema.items, visit);
}

describe("pages", () => {
  const lists = () => operations.filter((operation) => parameterOf(operation, "cursor"));

  test("a list takes a cursor if its response has the next one", () => {
    const withNext = operations.filter((operation) => responseOf(operation)?.properties?.nextCursor);
    expect(namesOf(withNext)).toEqual(namesOf(lists()));
    expect(lists().length).toBeGreaterThan(8);
    for (const list of lists())
      expect([list.name, responseOf(list)!.properties!.nextCursor!.type]).toEqual([
        list.name,
        ["string", "null"],
      ]);
  });

  test("the cursor is the same opaque text everywhere", () => {
    for (const list of lists())
      expect([list.name, parameterOf(list, "cursor")!.schema]).toEqual([
        list.name,
        { type: "string", description: "The `nextCursor` of the previous page." },
      ]);
  });

  test("the limit has one maximum and one default, unless it says why not", () => {
    for (const list of lists()) {
      const { minimum, maximum, default: fallback, description } = parameterOf(list, "limit")!.schema;
      const reason = maximum === limits.pageItems || description!.includes(`At most ${maximum}, because`);
      expect([list.name, minimum, reason, fallback]).toEqual([
        list.name,
        1,
        true,
        isStreamed(list) ? undefined : limits.pageItemsDefault,
      ]);
    }
  });

  test("a cursor and a limit that are invalid are rejected", async () => {
    const session = { cookie: await app.signIn() };
    for (const list of lists()) {
      const { maximum } = parameterOf(list, "limit")!.schema;
      const required = (list.parameters ?? [])
        .filter((parameter) => parameter.required && parameter.in === "query")
        .map(({ name }) => (name === "step" ? "step=a&step=b" : `${name}=1`));
      const ofProject = parameterOf(list, "project") ? ["project=default"] : [];
      for (const [query, says] of [
        ["cursor=zzz", '"cursor" must be the "nextCursor" of an earlier page'],
        ["limit=0", '"limit" must be at least 1'],
        [`limit=${maximum! + 1}`, `"limit" must be at most ${maximum}`],
        ["limit=x", '"limit" must be'],
      ] as const) {
        const url = `${app.address}${list.path.replace("{id}", "1")}?${[...required, ...ofProject, query].join("&")}`;
        const response = await fetch(url, { headers: session });
        const { type, detail } = (await response.json()) as { type: string; detail: string };
        expect([list.name, query, response.status, type, detail]).toEqual([
          list.name,
          query,
          400,
          expect.stringMatching(/query-invalid$/),
          expect.stringContaining(says),
        ]);
      }
    }
  });
});

describe("fields", () => {
  test("an ID is a string", () => {
    const others = new Set<string>();
    for (const [schemaName, schema] of Object.entries(schemas))
      walk(schema, ({ type, $ref }, name) => {
        if (name && /^id$|Id$/.test(name) && !$ref && ![type].flat().includes("string"))
          others.add(`${schemaName}.${name}`);
      });
    for (const { name, parameters = [] } of operations)
      for (const parameter of parameters)
        if (parameter.in === "path" && parameter.schema.type !== "string") others.add(name);
    expect([...others]).toEqual([]);
  });

  test("a kind lists what it can be", () => {
    const open = new Set<string>();
    for (const [schemaName, schema] of Object.entries(schemas))
      walk(schema, ({ enum: values }, name) => {
        if (name === "kind" && !values) open.add(schemaName);
      });
    for (const operation of operations) {
      const kind = parameterOf(operation, "kind");
      if (kind && !kind.schema.enum) open.add(operation.name);
    }
    expect([...open]).toEqual([]);
    expect(kinds.map(({ kind }) => kind)).toEqual([...projectDestinationKinds]);
  });

  test("a whole number that is sent has bounds", () => {
    const unbounded = new Set<string>();
    for (const { name, parameters = [], requestBody } of operations) {
      const sent = [
        ...parameters.map((parameter) => ({ ...parameter, name: parameter.name })),
        ...Object.values(requestBody?.content ?? {}).map(({ schema }) => ({ name: "body", schema })),
      ];
      for (const { name: at, schema } of sent)
        walk(resolved(schema), ({ type, minimum, maximum }, property) => {
          if ([type].flat().includes("integer") && (minimum === undefined || maximum === undefined))
            unbounded.add(`${name} ${property ?? at}`);
        });
    }
    expect([...unbounded]).toEqual([]);
  });
});

describe("status codes", () => {
  test("reading and changing is 200, creating 201", () => {
    // A ping by GET can create a heartbeat, as HEAD and POST can: cron jobs send what their client does by itself.
    const isPing = ({ name }: { name: string }) => /^GET \/ping\/\{\w+\}\/./.test(name);
    for (const operation of operations.filter(
      (each) => ["GET", "PUT", "PATCH"].includes(each.method) && !isPing(each),
    ))
      expect([operation.name, successesOf(operation)]).toEqual([operation.name, ["200"]]);
    for (const operation of operations.filter(({ operationId }) => operationId.startsWith("create"))) {
      expect([operation.name, successesOf(operation)]).toEqual([operation.name, ["201"]]);
      const { properties = {} } = responseOf(operation, "201")!;
      expect([operation.name, Object.keys(properties)[0], Object.keys(properties).length > 1]).toEqual([
        operation.name,
        "ok",
        true,
      ]);
    }
  });

  test("deleting is 200 with ok and nothing else, or 202 with a job", () => {
    for (const operation of operations.filter(({ method }) => method === "DELETE")) {
      const [status] = successesOf(operation);
      expect([operation.name, status, responseName(operation, status)]).toEqual([
        operation.name,
        status,
        status === "202" ? "JobResponse" : "Done",
      ]);
    }
  });

  test("a secret is rotated with POST …/rotate, which is 200", () => {
    const rotations = operations.filter(
      ({ operationId, deprecated }) => /^rotate/.test(operationId) && !deprecated,
    );
    expect(namesOf(rotations).toSorted()).toEqual([
      "POST /api/heartbeats/{id}/rotate",
      "POST /api/keys/{id}/rotate",
      "POST /api/project-destinations/{id}/rotate",
      "POST /api/webhooks/{id}/rotate",
    ]);
    for (const operation of rotations)
      expect([operation.name, successesOf(operation)]).toEqual([operation.name, ["200"]]);
  });

  test("the former path of a rotation is deprecated", () => {
    const deprecated = operations.filter((operation) => operation.deprecated);
    expect(namesOf(deprecated)).toEqual(["POST /api/project-destinations/{id}/rotate-secret"]);
  });

  test("what isn't there is 404, with a problem", async () => {
    const headers = { cookie: await app.signIn(), origin: app.address };
    const missing = "01900000-0000-7000-8000-000000000000";
    const found = operations.filter(
      ({ method, path }) => (method === "GET" || method === "DELETE") && path.endsWith("}"),
    );
    for (const operation of found) {
      const path = operation.path.replace(/\{\w+\}/g, missing);
      // An erasure also removes what backups have of a user.
      const expected = operation.name === "DELETE /api/users/{userId}" ? 202 : 404;
      const query = operation.parameters?.some(({ name, in: at }) => name === "project" && at === "query")
        ? "?project=default"
        : parameterOf(operation, "confirm")
          ? `?confirm=${missing}`
          : "";
      const response = await fetch(app.address + path + query, { method: operation.method, headers });
      expect([operation.name, response.status]).toEqual([operation.name, expected]);
      if (expected === 404) expect(response.headers.get("content-type")).toBe("application/problem+json");
    }
  });

  function successesOf({ responses }: Operation): string[] {
    return Object.keys(responses).filter((status) => status.startsWith("2"));
  }
});

describe("bodies", () => {
  test("a success has one media type, and as JSON an object: generated clients know its fields", () => {
    for (const { name, responses } of operations)
      for (const [status, { content = {} }] of Object.entries(responses)) {
        if (!status.startsWith("2")) continue;
        const [type, ...others] = Object.keys(content);
        expect([name, status, others]).toEqual([name, status, []]);
        if (type !== "application/json") continue;
        const schema = resolved(content[type]!.schema);
        const parts = (schema.anyOf ?? schema.allOf ?? [schema]).map(resolved);
        for (const { type } of parts) expect([name, status, type]).toEqual([name, status, "object"]);
      }
  });

  test("an error is a problem", () => {
    for (const { name, responses } of operations)
      for (const [status, { content = {} }] of Object.entries(responses)) {
        if (status.startsWith("2")) continue;
        const schema = content["application/problem+json"]?.schema.$ref?.split("/").at(-1);
        expect([name, status, schema]).toEqual([name, status, expect.stringMatching(/^(Conflict)?Problem$/)]);
      }
  });
});
