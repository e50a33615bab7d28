import { expect, test } from "bun:test";
import { applied, describe, mutantsOf } from "./mutants.mjs";

const mutated = (source, path = "a.ts") => mutantsOf(source, path).map((mutant) => applied(source, mutant));

test.each([
  ["if (a) b();", ["if (false) b();", "if (true) b();"]],
  ["x = a === b;", ["x = a !== b;"]],
  ["x = a < 1;", ["x = a <= 1;", "x = a >= 1;", "x = a < 2;"]],
  ["x = a && (b ?? c);", ["x = (b ?? c);", "x = a;", "x = a && (c);", "x = a && (b);"]],
  ["x = a + b;", ["x = a - b;"]],
  ["x = a + 'text';", []],
  ["x -= a;", ["x += a;"]],
  ["x = [!a, true];", ["x = [];", "x = [a, true];", "x = [!a, false];"]],
  ["x = a?.b?.();", ["x = a.b?.();", "x = a?.b();"]],
  ["x = a ? -1 : 1;", ["x = false ? -1 : 1;", "x = true ? -1 : 1;", "x = a ? 1 : 1;"]],
  ["x = 10n;", ["x = 11n;"]],
])("the mutants of %p", (source, expected) => {
  // The statement itself can be removed as well.
  const others = mutated(source).filter((mutant) => mutant !== ";");
  expect(others).toEqual(expected);
});

test("statements, results and defaults are removed, but nothing twice", () => {
  expect(mutated("function f(a = g()) { if (a) throw a; h(); return a; }")).toEqual([
    "function f(a = undefined) { if (a) throw a; h(); return a; }",
    "function f(a = g()) {}",
    "function f(a = g()) { if (false) throw a; h(); return a; }",
    "function f(a = g()) { if (true) throw a; h(); return a; }",
    "function f(a = g()) { if (a) throw a; ; return a; }",
    "function f(a = g()) { if (a) throw a; h(); return undefined; }",
  ]);
  expect(mutated("await a();")).toEqual(["await undefined;"]);
  expect(mutated("const f = () => a;")).toEqual(["const f = () => undefined;"]);
});

test("a loop isn't made endless", () => {
  expect(mutated("for (let i = a; i < b; i++) c();")).toEqual([
    "for (let i = a; false; i++) c();",
    "for (let i = a; i <= b; i++) c();",
    "for (let i = a; i >= b; i++) c();",
    "for (let i = a; i < b; i++) ;",
  ]);
});

test("types, imports, texts and names of properties stay", () => {
  const source =
    'import a from "a"; type A = 1 | 2; const b = { 1: "text", c: d as A } satisfies Record<1, A>;';
  expect(mutated(source)).toEqual([]);
});

test("what would not parse isn't a mutant", () => {
  expect(mutated("const f = (a) => a && { ...a };")).toEqual([
    "const f = (a) => undefined;",
    "const f = (a) => a;",
  ]);
});

test("a change is described by its lines, as they were and are", () => {
  const source = "// ä💰\nif (\n  a\n) {\n  b();\n}";
  const [first] = mutantsOf(source, "a.tsx");
  expect(describe(source, first)).toEqual({ line: 3, before: "a", after: "false" });
  const last = mutantsOf(source, "a.ts").at(-1);
  expect(describe(source, last)).toEqual({ line: 5, before: "b();", after: ";" });
});
