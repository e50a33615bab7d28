import { readFileSync } from "node:fs";
import { join } from "node:path";
import { docs } from "./pages.ts";

/** What the reference uses of OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1.html). */
export type Description = {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

export type Operation = {
  tags: [string];
  summary: string;
  description?: string;
  deprecated?: boolean;
  security?: Record<string, string[]>[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
};

export type Schema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  default?: unknown;
  example?: unknown;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
};

export function readDescription(): Description {
  return JSON.parse(readFileSync(join(docs, "openapi.json"), "utf8"));
}

/** Returns the schema that a reference names, and its name. */
export function resolve(
  schema: Schema,
  { components }: Description,
): { schema: Schema; name: string | null } {
  const name = schema.$ref?.split("/").at(-1) ?? null;
  return { schema: name === null ? schema : (components.schemas[name] ?? {}), name };
}

/** Returns a value that fits a schema: its example, or the shortest that shows its form. */
export function exampleOf(schema: Schema, description: Description, depth = 0): unknown {
  const { schema: resolved } = resolve(schema, description);
  const { example, enum: values, anyOf, oneOf, allOf, properties = {}, required = [], items } = resolved;
  if (example !== undefined) return example;
  if (resolved.default !== undefined) return resolved.default;
  if (values) return values[0];
  const choice = (anyOf ?? oneOf)?.[0];
  if (choice) return exampleOf(choice, description, depth);
  if (allOf) return Object.assign({}, ...allOf.map((each) => exampleOf(each, description, depth) as object));
  const type = [resolved.type].flat()[0];
  if (type === "object") {
    // A body without required fields shows all it can change.
    const shown = required.length > 0 || depth > 0 ? required : Object.keys(properties);
    return Object.fromEntries(
      shown
        .filter((name) => properties[name])
        .map((name) => [name, exampleOf(properties[name]!, description, depth + 1)]),
    );
  }
  if (type === "array") return items && depth < 4 ? [exampleOf(items, description, depth + 1)] : [];
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return resolved.minimum ?? 1;
  if (type === "null") return null;
  if (resolved.format === "date-time") return "2026-01-31T12:00:00Z";
  if (resolved.format === "email") return "ada@example.com";
  return "…";
}
