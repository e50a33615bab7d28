import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testsOf } from "./tests-of.mjs";

const root = join(mkdtempSync(join(tmpdir(), "tidings-tests-of-")), "/");
afterAll(() => rmSync(root, { recursive: true }));
const files = {
  "queue.ts": "",
  "queue.test.ts": 'import { Queue } from "./queue.ts";',
  "reader.ts": 'import { Queue } from "./queue.ts";\nexport * from "./pages.ts";',
  "reader.test.ts": 'import { Queue } from "./queue.ts";\nawait import("./reader.ts");',
  "postgres.test.ts": '// @engines postgres\nimport "./pages.ts";',
  "pages.ts": 'import type { Page } from "./page-type.ts";',
  "page-type.ts": "",
  "unused.ts": "",
};
for (const [path, text] of Object.entries(files)) writeFileSync(root + path, text);
const tests = (path) => testsOf(path, Object.keys(files), root).sort();

test("the tests of a file are the one beside it and those that import it", () => {
  expect(tests("queue.ts")).toEqual(["queue.test.ts", "reader.test.ts"]);
  expect(tests("reader.ts")).toEqual(["reader.test.ts"]);
});

test("without those, they are the tests of the files that import it, and so on", () => {
  expect(tests("pages.ts")).toEqual(["reader.test.ts"]);
  expect(tests("page-type.ts")).toEqual(["reader.test.ts"]);
  expect(tests("unused.ts")).toEqual([]);
});
