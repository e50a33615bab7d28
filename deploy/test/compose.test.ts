import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DCLinter } from "dclint";
import { root } from "./folders.ts";

/** Rules of taste: the order of keys, and a name for the project. */
const off = [
  "require-project-name-field",
  "service-dependencies-alphabetical-order",
  "service-keys-order",
  "services-alphabetical-order",
  "top-level-properties-order",
];
/** Caddy is there for everybody. */
const publicPorts = "no-unbound-port-interfaces";

function faultsOf(path: string, without: string[] = []): string[] {
  const rules = {
    ...Object.fromEntries([...off, ...without].map((name) => [name, 0 as const])),
    // As the formatter writes them.
    "require-quotes-in-ports": [2, { quoteType: "double" }] satisfies [2, object],
  };
  const linter = new DCLinter({ rules, quiet: false, debug: false, exclude: [] });
  return linter
    .lintFiles([path], false)
    .flatMap(({ messages }) => messages.map(({ line, rule, message }) => `${line} ${rule}: ${message}`));
}

test("the Compose files have no faults that dclint knows, and fit the schema of Compose", () => {
  expect(faultsOf(join(root, "deploy/compose.yaml"))).toEqual([]);
  expect(faultsOf(join(root, "deploy/compose.postgres.yaml"), [publicPorts])).toEqual([]);
  const directory = mkdtempSync(join(tmpdir(), "tidings-compose-"));
  try {
    const wrong = join(directory, "compose.yaml");
    writeFileSync(wrong, "services: { a: { image: 'a:1', read_only: maybe, caps: [ALL] } }\n");
    expect(faultsOf(wrong)).toContainEqual(expect.stringContaining("invalid-schema"));
  } finally {
    rmSync(directory, { recursive: true });
  }
});
