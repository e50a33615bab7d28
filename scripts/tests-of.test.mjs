import { expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import { testsOf } from "./tests-of.mjs";

const root = join(import.meta.dir, "../");
const code = [...new Glob("server/{scheduling,storage,events}/**/*.ts").scanSync(root)];

test("the tests of a file are the one beside it and those that import it", () => {
  expect(testsOf("server/scheduling/turns.ts", code, root)).toEqual([
    "server/scheduling/turns.test.ts",
    "server/events/project-stream.test.ts",
  ]);
});

test("a file that no test imports has the tests of the files that import it, without those of PostgreSQL", () => {
  expect(testsOf("server/storage/bits.ts", code, root)).toEqual(["server/storage/sqlite/page.test.ts"]);
});
