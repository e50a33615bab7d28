// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HostileProxy, hostileProxy } from "../../client/src/testing/hostile-proxy.ts";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";

const missing = ["bash", "curl", "jq"].filter((program) => !Bun.which(program));
if (missing.length > 0) console.log(`Skipped: the tests of the GitHub Action need ${missing.join(", ")}.`);

type Action = {
  inputs: Record<string, { default?: string; required?: boolean }>;
  runs: { steps: { env: Record<string, string>; run: string }[] };
};
const action = Bun.YAML.parse(readFileSync(join(import.meta.dir, "action.yml"), "utf8")) as Action;
const [step] = action.runs.steps;

describe.skipIf(missing.length > 0)("the action", () => {
  let app: TestApp;
  let proxy: HostileProxy;
  let directory: string;
  beforeAll(async () => {
    app = await testApp();
    proxy = await hostileProxy(app.address);
    directory = mkdtempSync(join(tmpdir(), "tidings-action-"));
  });
  afterAll(async () => {
    rmSync(directory, { recursive: true, force: true });
    await proxy[Symbol.asyncDispose]();
    await app[Symbol.asyncDispose]();
  });

  const answering = (fetch: () => Response) => Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });

  let runs = 0;
  /** Runs the action's step as a runner does: inputs, then the variables that it makes of them. */
  async function run(inputs: Record<string, string>) {
    const given: Record<string, string> = { url: proxy.url, "api-key": app.key, ...inputs };
    const textOf = (expression: string): string =>
      expression.replace(/\$\{\{ (?:inputs\.([\w-]+)|(github\.actor)) \}\}/g, (_, input?: string) =>
        input === undefined ? "ada" : (given[input] ?? textOf(action.inputs[input]?.default ?? "")),
      );
    const output = join(directory, `output-${++runs}`);
    const child = Bun.spawn(["bash", "-c", step!.run], {
      env: {
        PATH: process.env.PATH,
        ...Object.fromEntries(Object.entries(step!.env).map(([name, text]) => [name, textOf(text)])),
        GITHUB_ACTION_PATH: import.meta.dir,
        GITHUB_OUTPUT: output,
        GITHUB_REPOSITORY: "ada/shop",
        GITHUB_WORKFLOW: "Deploy",
        GITHUB_JOB: "deploy",
        GITHUB_REF_NAME: "main",
        GITHUB_SHA: "0123456789abcdef0123456789abcdef01234567",
        GITHUB_RUN_ID: "42",
        GITHUB_RUN_ATTEMPT: "1",
        GITHUB_SERVER_URL: "https://github.com",
      },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [text, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    const code = await child.exited;
    const file = Bun.file(output);
    return { code, text: text + errors, output: (await file.exists()) ? await file.text() : "" };
  }

  test("records an event with the run's tags, once, also if a response is lost", async () => {
    proxy.mishaps.push("drop-response");
    const hostile = "Deployed `$(touch /tmp/x)`; \"quoted\" 'too' — é💰";
    const { code, output } = await run({
      name: hostile,
      icon: "🚀",
      notify: "true",
      description: "Line 1\nLine 2",
      tags: "environment=production\n  version = v1=2 \nno tag\n=none\nempty=\n",
    });
    expect(code).toBe(0);
    const events = await app.list("?channel=deployments");
    expect(events).toMatchObject([
      { name: hostile, userId: "ada", icon: "🚀", notify: true, description: "Line 1\nLine 2" },
    ]);
    expect(output).toBe(`id=${events[0]!.id}\n`);
    expect(events[0]!.tags).toEqual({
      repository: "ada/shop",
      workflow: "Deploy",
      job: "deploy",
      ref: "main",
      commit: "0123456789abcdef0123456789abcdef01234567",
      run: "https://github.com/ada/shop/actions/runs/42",
      environment: "production",
      version: "v1=2",
    });
  });

  test("a response that breaks off, and a request that is still under way, are repeated", async () => {
    proxy.mishaps.push("half-response");
    const inputs = { name: "half", channel: "half" };
    const { output } = await run(inputs);
    const events = await app.list("?channel=half");
    expect(events).toHaveLength(1);
    expect(output).toBe(`id=${events[0]!.id}\n`);
    const id = Bun.randomUUIDv7();
    const responses = [Response.json({ detail: "Still in progress." }, { status: 409 })];
    using server = answering(() => responses.shift() ?? Response.json({ ok: true, id }, { status: 201 }));
    expect((await run({ name: "n", url: server.url.origin })).output).toBe(`id=${id}\n`);
  });

  test("no response becomes a command of the workflow", async () => {
    const id = "x\n::error title=Hi::all\ny=z";
    using server = answering(() => Response.json({ ok: true, id, detail: id }, { status: 201 }));
    const { text, output } = await run({ name: "n", url: server.url.origin });
    expect(output).toBe("");
    expect(text.split("\n").filter((line) => line.startsWith("::"))).toEqual([
      "::warning title=Tidings::x%0A::error title=Hi::all%0Ay=z",
    ]);
  });

  test("an event that is rejected is a warning, or an error if it shall fail", async () => {
    const inputs = { name: "x".repeat(201) };
    const before = proxy.batches.length;
    const warned = await run(inputs);
    expect(warned).toMatchObject({ code: 0, output: "" });
    expect(warned.text).toContain('::warning title=Tidings::"name" must have at most 200 characters');
    const failed = await run({ ...inputs, fail: "true" });
    expect(failed).toMatchObject({ code: 1, output: "" });
    expect(failed.text).toStartWith("::error title=Tidings::");
    // It isn't tried again.
    expect(proxy.batches.length - before).toBe(2);
  });

  test("missing inputs end at once, with an error if it shall fail", async () => {
    const { code, text } = await run({ name: "n", "api-key": "", fail: "true" });
    expect({ code, text }).toEqual({
      code: 1,
      text: '::error title=Tidings::The input "api-key" is empty. Workflows of forks have no secrets.\n',
    });
    expect(await run({ name: "n", url: "" })).toMatchObject({ code: 0 });
  });

  test("inputs never become a part of the script", () => {
    expect(step!.run).not.toContain("${{");
  });
});
