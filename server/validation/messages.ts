import { z } from "@hono/zod-openapi";

/**
 * Default messages of schemas. Like all others, they are the second half of a sentence ("must be a string, not a
 * number").
 */
z.config({
  customError: (issue) => {
    switch (issue.code) {
      case "invalid_type":
        return typeMessage(issue.expected, issue.input);
      case "too_small":
        return `must ${sizeOf(issue.origin, `at least ${numberOf(issue.minimum)}`)}`;
      case "too_big":
        return `must ${sizeOf(issue.origin, `at most ${numberOf(issue.maximum)}`)}`;
      case "invalid_value":
        return oneOf(issue.values);
      case "invalid_union":
        // The value that selects one of several schemas, such as `type`.
        return Array.isArray(issue.options) ? oneOf(issue.options) : undefined;
      case "invalid_format":
        return "is not valid";
      default:
        return undefined;
    }
  },
});

function oneOf(values: readonly unknown[]): string {
  return `must be ${anyOf.format(values.map((value) => JSON.stringify(value)))}`;
}

const anyOf = new Intl.ListFormat("en", { type: "disjunction" });

const expectedKinds: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
};

function typeMessage(expected: string, input: unknown): string | undefined {
  const kind = expectedKinds[expected];
  if (kind === undefined) return undefined;
  if (input === undefined) return "is missing";
  // The input is a number of another kind, or NaN, which an invalid numeric parameter turns into.
  return typeof input === "number" && kind.endsWith("number")
    ? `must be ${kind}`
    : `must be ${kind}, not ${kindOf(input)}`;
}

function sizeOf(origin: string, size: string): string {
  if (origin === "string") return `have ${size} characters`;
  if (origin === "array") return `have ${size} items`;
  return `be ${size}`;
}

function numberOf(value: number | bigint): string {
  return value.toLocaleString("en");
}

/** Names a JSON value's type in messages. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (typeof value === "number") return "a number";
  if (typeof value === "boolean") return "a boolean";
  return `a ${typeof value}`;
}
