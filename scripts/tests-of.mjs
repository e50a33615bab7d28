/** Finds the tests of a source file by its imports. */
import { readFileSync } from "node:fs";
import { posix } from "node:path";

/**
 * Returns the tests beside a file and those that import it. If there are none, those of the files that import it, and
 * so on. Those that only PostgreSQL runs are left out.
 *
 * @param code - the paths of all source files, from the root
 */
export function testsOf(path, code, root) {
  const runs = (test) => isTest(test) && !/^\/\/ @engines postgres$/m.test(readFileSync(root + test, "utf8"));
  const importers = importersIn(code, root);
  const seen = new Set([path]);
  for (let level = [path]; level.length > 0; ) {
    const next = new Set(
      level.flatMap((each) => importers.get(each) ?? []).filter((each) => !seen.has(each)),
    );
    const own = level
      .map((each) => each.replace(/\.tsx?$/, ".test.ts"))
      .filter((each) => code.includes(each));
    const tests = new Set([...own, ...next].filter(runs));
    if (tests.size > 0) return [...tests];
    level = [...next];
    for (const each of level) seen.add(each);
  }
  return [];
}

export function isTest(path) {
  return /\.test\.tsx?$/.test(path);
}

/** Returns which files import each file. */
function importersIn(code, root) {
  const importers = new Map();
  for (const path of code)
    for (const [, target] of readFileSync(root + path, "utf8").matchAll(
      /(?:from|import)\s*\(?\s*"(\.[^"]+)"/g,
    )) {
      const imported = posix.join(posix.dirname(path), target);
      importers.set(imported, [...(importers.get(imported) ?? []), path]);
    }
  return importers;
}
