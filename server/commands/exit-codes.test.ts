// @long
/** The exit codes in docs/cli.md and docs/doctor.md: each has a command that ends with it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { environmentOf } from "../testing/engine.ts";
import { runTidings, spawnTidings, startServer } from "../testing/server-process.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

type Case = [code: number, args: string, more?: { stdin?: string; environment?: Record<string, string> }];

/** Nobody listens there, and only root could. */
const closedPort = "9";
const wrongSettings = { PORT: "x" };

/** Each runs with the address and the key of a server, unless it has an environment of its own. */
const cases: Case[] = [
  [0, "--help"],
  [0, "--version"],
  [0, "list --help", { environment: {} }],
  [0, "log --url URL", { stdin: '{"channel":"ops","name":"Done"}' }],
  [0, "list --q plan=none --url URL"],
  [0, "import - --url URL", { stdin: '{"channel":"ops","name":"Done"}\n' }],
  [0, "config check", { environment: {} }],
  [1, "list --q plan= --url URL"],
  [1, "list --url URL", { environment: { TIDINGS_API_KEY: "tdg_sk_unknown" } }],
  [1, `list --url http://127.0.0.1:${closedPort}`],
  [1, "log --url URL", { stdin: '{"name":"Without a channel"}' }],
  [1, "import missing.ndjson --url URL"],
  [1, "config check", { environment: wrongSettings }],
  [1, "key list --project default", { environment: wrongSettings }],
  [1, "healthcheck", { environment: { PORT: closedPort } }],
  [2, "lst"],
  [2, "list --nope --url URL"],
  [2, "list --limit --url URL"],
  [2, "list --limit many --url URL"],
  [2, "list more --url URL"],
  [2, "list --project default --url URL"],
  [2, "list --url URL", { environment: {} }],
  [2, "key create --name CI"],
  [2, "export events.parquet.gz --url URL"],
  [3, "import - --rejected /dev/null --url URL", { stdin: '{"channel":"ops"}\n' }],
];

for (const [code, args, { stdin = "", environment } = {}] of cases)
  test(`${code}: tidings ${args}${environment ? ` with ${JSON.stringify(environment)}` : ""}`, async () => {
    const words = args.split(" ").map((word) => (word === "URL" ? app.address : word));
    const ended = await runTidings(words, environment ?? { TIDINGS_API_KEY: app.key }, stdin);
    expect(ended).toMatchObject({ code });
    expect(ended.stderr === "").toBe(code === 0 && !args.startsWith("import"));
    expect(ended.stderr).not.toContain("    at ");
  });

for (const [code, signal] of [
  [130, "SIGINT"],
  [143, "SIGTERM"],
] as const)
  test(`${code}: tidings tail -f, ended by ${signal}`, async () => {
    await app.post({ channel: "ops", name: "Seen" });
    const child = spawnTidings(["tail", "-f", "--url", app.address], { TIDINGS_API_KEY: app.key }, "");
    const output = child.stdout.getReader();
    expect((await output.read()).done).toBe(false);
    child.kill(signal);
    expect(await child.exited).toBe(code);
  });

test("1: tidings tail -f, whose key is revoked meanwhile", async () => {
  const manage = (...args: string[]) =>
    runTidings(["key", ...args, "--project", "default"], environmentOf(app.config));
  const { stdout: key } = await manage("create", "--name", "Screen");
  await app.post({ channel: "ops", name: "Seen" });
  const child = spawnTidings(["tail", "-f", "--url", app.address], { TIDINGS_API_KEY: key.trim() }, "");
  const output = child.stdout.getReader();
  expect((await output.read()).done).toBe(false);
  expect((await manage("revoke", "Screen")).code).toBe(0);
  expect(await child.exited).toBe(1);
  expect(await new Response(child.stderr).text()).toContain("revoked");
});

test("0: tidings serve, ended by SIGTERM", async () => {
  const { dataDirectory } = app.config;
  const server = await startServer({ ...environmentOf(app.config), TIDINGS_DATA: `${dataDirectory}/other` });
  expect((await server.end("SIGTERM")).code).toBe(0);
});

test("the documentation has these codes and no others", () => {
  const page = readFileSync(join(import.meta.dir, "../../docs/cli.md"), "utf8");
  const documented = [...page.matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => Number(code));
  const tested = new Set([...cases.map(([code]) => code), 130, 143]);
  expect(documented).toEqual([...tested].toSorted((a, b) => a - b));
});
