import { expect, test } from "bun:test";
import type { z } from "zod";
import { NewAnnotation } from "../schemas/annotation.ts";
import { NewBoard } from "../schemas/board.ts";
import { NewRule } from "../schemas/rule.ts";
import { NewSilence } from "../schemas/silence.ts";
import { NewView } from "../schemas/view.ts";
import { searchFields } from "./named-cohorts.ts";

type Parts = {
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
  innerType?: z.core.$ZodType;
  options?: z.core.$ZodType[];
  in?: z.core.$ZodType;
};

/** The names of fields whose texts are searches: they refuse a search that ends within quotes, and take it closed. */
function* searchesIn(schema: z.core.$ZodType, field = ""): Generator<string> {
  const { shape, element, innerType, options, in: input } = schema._zod.def as Parts;
  for (const [name, part] of Object.entries(shape ?? {})) yield* searchesIn(part, name);
  for (const part of [element, innerType, input, ...(options ?? [])])
    if (part) yield* searchesIn(part, field);
  if ((schema._zod.def as { type: string }).type !== "string") return;
  const string = schema as z.ZodString;
  const refusal = string.safeParse('"open').error?.issues[0]?.message ?? "";
  if (refusal.includes("not a valid search")) yield field;
}

test("cohorts are looked for in every field that is a search", () => {
  const schemas = [NewAnnotation, NewBoard, NewRule, NewSilence, NewView];
  const found = new Set(schemas.flatMap((schema) => [...searchesIn(schema)]));
  expect([...found].sort()).toEqual([...searchFields].sort());
});
