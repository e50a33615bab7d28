/**
 * Generates src/wire.gen.ts, the client's types, from the schemas in server/event and server/wire.
 *
 *   bun client/generate.ts           writes the file
 *   bun client/generate.ts --check   exits with 1 and a message if the file is stale
 */
import { join } from "node:path";
import { OpenAPIHono } from "@hono/zod-openapi";
import { Event, EventList, NewEvent } from "../server/event/event.ts";
import { BatchAnswer } from "../server/wire/batch.ts";
import { Problem } from "../server/wire/problem.ts";

const file = join(import.meta.dir, "src/wire.gen.ts");

/** The subset of JSON Schema that the schemas use; `print` rejects anything else. */
type Schema = {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  $ref?: string;
  description?: string;
  maxLength?: number;
  maxProperties?: number;
};

/** Returns the file's text. It is deterministic. */
export function generate(): string {
  const api = new OpenAPIHono();
  for (const [name, schema] of Object.entries({ Event, NewEvent, EventList, BatchAnswer, Problem })) {
    api.openAPIRegistry.register(name, schema);
  }
  const { components } = api.getOpenAPI31Document({ openapi: "3.1.0", info: { title: "", version: "" } });
  const types = Object.entries(components?.schemas ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `export type ${name} = ${print(schema as Schema, "")};\n`);
  return ["// Made by client/generate.ts from server/wire: do not edit, run it again.\n", ...types].join(
    "\n",
  );
}

/** A schema as a TypeScript type. */
function print(schema: Schema, indent: string): string {
  if (schema.$ref) return schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map((option) => print(option, indent)).join(" | ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => print({ ...schema, type }, indent)).join(" | ");
  }
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return `Array<${print(schema.items ?? {}, indent)}>`;
    case "object":
      return printObject(schema, indent);
    default:
      throw new Error(`generate.ts can't print ${JSON.stringify(schema)} yet.`);
  }
}

function printObject(schema: Schema, indent: string): string {
  if (!schema.properties && typeof schema.additionalProperties === "object") {
    return `Record<string, ${print(schema.additionalProperties, indent)}>`;
  }
  const inner = `${indent}  `;
  const members = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const comment = commentOf(member);
    const optional = schema.required?.includes(name) ? "" : "?";
    return [
      ...(comment ? [`${inner}/** ${comment} */`] : []),
      `${inner}${name}${optional}: ${print(member, inner)};`,
    ];
  });
  return ["{", ...members, `${indent}}`].join("\n");
}

function commentOf({ description, maxLength, maxProperties, additionalProperties }: Schema): string {
  const value = typeof additionalProperties === "object" ? additionalProperties : {};
  return [
    description,
    maxLength && `At most ${maxLength.toLocaleString("en")} characters.`,
    maxProperties && `At most ${maxProperties.toLocaleString("en")} keys.`,
    value.maxLength && `A value has at most ${value.maxLength.toLocaleString("en")} characters.`,
  ]
    .filter(Boolean)
    .join(" ")
    .replaceAll("*/", "*\\/");
}

if (import.meta.main) {
  const generated = generate();
  const current = await Bun.file(file)
    .text()
    .catch(() => "");
  if (!process.argv.includes("--check")) {
    await Bun.write(file, generated);
  } else if (current !== generated) {
    console.error(
      "client/src/wire.gen.ts is not what server/wire says: run `bun client/generate.ts` and commit it.",
    );
    process.exit(1);
  }
}
