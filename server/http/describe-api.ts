import { version } from "../config.ts";
import type { Routes } from "./routes.ts";
import { tags } from "./tags.ts";

/** Returns the OpenAPI 3.1 description. */
export function describeApi(routes: Routes): object {
  const description = routes.app.getOpenAPI31Document({
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
