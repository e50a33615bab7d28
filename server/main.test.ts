// @engines sqlite, postgres
// @long postgres
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "./event/event.ts";
import { engine, environmentOf, makeStorage, removeStorage, type TestStorage } from "./testing/engine.ts";
import { freePort } from "./testing/postgres.ts";
import { fromSource, runTidings, spawnTidings, startServer, testProcess } from "./testing/server-process.ts";
import { preparedConfig } from "./testing/test-app.ts";
import { until, untilJobDone } from "./testing/until.ts";

/** How long a server waits for requests that never end, as in `serve.ts`. */
const drainTimeoutMs = 10_000;

/** Whether processes can be started in namespaces of their own, which needs root on Linux. */
const canUnshare =
  process.platform === "linux" &&
  Bun.spawnSync(["unshare", "--pid", "--uts", "--fork", "--mount-proc", "true"]).exitCode === 0;

let storage: TestStorage;
let environment: Record<string, string>;
beforeEach(async () => {
  storage = await makeStorage();
  environment = environmentOf(storage);
});
afterEach(() => removeStorage(storage));

test("the first start prints a working setup link, a later one doesn't", async () => {
  const first = await startServer(environment);
  const links = first.stdout.match(/http:\/\/localhost:\d+\/setup\?token=[^"]+/g)!;
  expect(links).toHaveLength(1);
  expect(new URL(links[0]!).port).toBe(new URL(first.address).port);
  const claimed = await fetch(`${first.address}/api/setup`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: first.address },
    body: JSON.stringify({
      token: new URL(links[0]!).searchParams.get("token"),
      email: "owner@example.com",
      password: "long enough password",
    }),
  });
  expect(claimed.status).toBe(201);
  expect((await first.end("SIGTERM")).code).toBe(0);
  const second = await startServer(environment);
  expect(second.stdout).not.toContain("setup");
  expect(second.stdout).toContain('"dashboard":"http://localhost:');
  expect(await second.end("SIGINT")).toMatchObject({ code: 0, stderr: "" });
});

test("the setup link uses the public address", async () => {
  const server = await startServer({ ...environment, TIDINGS_URL: "https://tidings.example.com" });
  expect(server.stdout).toContain("https://tidings.example.com/setup?token=");
  await server.end("SIGTERM");
});

test("an address that can't be listened on is refused in a sentence with its setting", async () => {
  using taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const refusals = [
    [{ HOST: "256.1.1.1" }, 'HOST is "256.1.1.1", which is not an address of this machine.'],
    [{ HOST: "192.0.2.1" }, 'HOST is "192.0.2.1", which is not an address of this machine.'],
    [{ PORT: `${taken.port}` }, `port ${taken.port} on 127.0.0.1 is in use by another process`],
    [
      { PORT: "0", TIDINGS_METRICS_ADDRESS: `127.0.0.1:${taken.port}` },
      "or set TIDINGS_METRICS_ADDRESS to a free port.",
    ],
  ] as const;
  for (const [change, sentence] of refusals) {
    const settings = { ...environment, HOST: "127.0.0.1", ...change };
    const { code, stderr } = await runTidings(["serve"], settings);
    expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
    expect(stderr).toStartWith("Tidings can't start: ");
  }
});

/** A server's log lines. Each must be JSON. */
const linesOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { level: number; msg: string; [field: string]: unknown });

test("long work is logged when it begins and when it is done, as JSON lines", async () => {
  const { config, secret } = await preparedConfig();
  const server = await startServer({ ...environmentOf(config), TIDINGS_LOG: "info" });
  const request = (path: string, init: RequestInit = {}) =>
    fetch(server.address + path, {
      ...init,
      headers: { "content-type": "application/json", "x-api-key": secret },
    });
  const events = JSON.stringify([1, 2, 3].map((n) => ({ channel: "c", name: `${n}` })));
  expect((await request("/api/events", { method: "POST", body: events })).status).toBe(201);
  await untilJobDone({ request }, await request("/api/channels/c", { method: "DELETE" }));
  // The job is done in the database a moment before the log says so.
  await until(() => server.stdout.includes("a job is done"));
  const { code, stdout, stderr } = await server.end("SIGTERM");
  expect([code, stderr]).toEqual([0, ""]);
  const job = { job: expect.any(String), kind: "delete-channel", projectId: expect.any(Number) };
  const lines = linesOf(stdout).filter(
    ({ msg }) => !/^(looked through|checked the database|PostgreSQL has|slow request)/.test(msg),
  );
  expect(lines).toMatchObject([
    { msg: expect.stringContaining(" is listening on "), address: server.address },
    { level: 30, msg: "a job has begun", ...job },
    { level: 30, msg: "a job is done", ...job, done: 3, ms: expect.any(Number) },
    { level: 30, msg: expect.stringContaining("stopping"), signal: "SIGTERM" },
    { level: 30, msg: "stopped", ms: expect.any(Number) },
  ]);
  await removeStorage(config);
});

test.skipIf(engine === "postgres")(
  "a second server on a data directory is refused, until the first one is killed",
  async () => {
    const first = await startServer(environment);
    const second = await runTidings(["serve"], { ...environment, PORT: "0" });
    expect([second.code, second.stdout]).toEqual([1, ""]);
    expect(second.stderr).toMatch(
      new RegExp(
        `^Tidings can't start: Process ${first.pid} \\(a server, since 20\\S+Z\\) is using ${storage.dataDirectory}\\. Stop it`,
      ),
    );
    // A command with a writer of its own may run beside it.
    expect(await runTidings(["project", "create", "p"], environment)).toMatchObject({ code: 0 });
    await first.end("SIGKILL");
    // Its number is another process's by now.
    const marker = join(storage.dataDirectory, "tidings.db-open");
    writeFileSync(marker, readFileSync(marker, "utf8").replace(/^\d+/, "1"));
    const third = await startServer(environment);
    expect((await third.end("SIGTERM")).code).toBe(0);
  },
);

// Containers number their processes alike: both servers are process 1.
test.skipIf(engine === "postgres" || !canUnshare)("a server in another container is seen", async () => {
  const apart = ["unshare", "--pid", "--uts", "--fork", "--mount-proc", "--kill-child", "sh", "-c"];
  const server = await startServer(environment, undefined, [
    ...apart,
    'hostname first; exec "$0" "$@"',
    ...fromSource,
  ]);
  const inSecond = [...apart, 'hostname second; exec "$0" "$@"', ...fromSource];
  for (const command of [["serve"], ["restore", "/dev/null"]]) {
    const { code, stderr } = await runTidings(command, { ...environment, PORT: "0" }, "", inSecond);
    expect([command, code, stderr]).toEqual([
      command,
      1,
      expect.stringContaining("Process 1 on first (a server, "),
    ]);
  }
  await server.end("SIGKILL");
});

test("an uncaught exception is one log line, and the server exits with 1", async () => {
  const program = `const { run } = await import("./main.ts"); await run(); setTimeout(() => { throw new TypeError("boom"); });`;
  const child = Bun.spawn([process.execPath, "-e", program], {
    cwd: import.meta.dir,
    env: { ...process.env, ...environment, HOST: "127.0.0.1", PORT: "0", TIDINGS_LOG: "error" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  expect([await child.exited, stderr]).toEqual([1, ""]);
  expect(linesOf(stdout).at(-1)).toMatchObject({
    level: 60,
    err: { type: "TypeError", message: "boom", stack: expect.stringContaining("boom") },
  });
});

describe("a server that can't start says why and exits with 1", () => {
  test("with every mistake of its settings", async () => {
    const { code, stdout, stderr } = await runTidings(["serve"], {
      PORT: "x",
      TIDINGS_URL: "y",
      SMTP_URL: "z",
      ...environment,
    });
    expect([code, stdout]).toEqual([1, ""]);
    for (const variable of ["PORT", "TIDINGS_URL", "SMTP_URL"])
      expect(stderr).toContain(`- ${variable} must`);
  });

  test("if its directory can't be created", async () => {
    const { code, stderr } = await runTidings(["serve"], { PORT: "0", TIDINGS_DATA: "/proc/tidings" });
    expect(code).toBe(1);
    expect(stderr).toStartWith("Tidings can't start: ");
    expect(stderr).not.toContain("    at ");
  });
});

test("an unhandled rejection is logged, and the server continues", async () => {
  const preload = join(storage.dataDirectory, "failing.ts");
  writeFileSync(
    preload,
    `const timer = setInterval(() => {
      if (process.listenerCount("unhandledRejection") === 0) return;
      clearInterval(timer);
      void Promise.reject(new Error("on purpose"));
    }, 10);`,
  );
  const server = await startServer({ ...environment, BUN_OPTIONS: `--preload ${preload}` });
  await until(() => server.stdout.includes("on purpose"));
  expect((await fetch(`${server.address}/readyz`)).status).toBe(200);
  expect(await server.end("SIGTERM")).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining('"msg":"unhandled promise rejection"'),
  });
});

describe("on SIGTERM", () => {
  test("with a delay, /readyz fails first, and requests are served until it is over", async () => {
    const server = await startServer({ ...environment, TIDINGS_SHUTDOWN_DELAY: "1" });
    const ready = () => fetch(`${server.address}/readyz`);
    expect((await ready()).status).toBe(200);
    const startMs = performance.now();
    const ended = server.end("SIGTERM");
    let response = await ready();
    while (response.status === 200) response = await ready();
    expect([response.status, await response.json()]).toEqual([
      503,
      expect.objectContaining({ type: "/problems/stopping", detail: expect.stringContaining("stopping") }),
    ]);
    expect((await fetch(`${server.address}/api/setup`)).status).toBe(200);
    expect((await ended).code).toBe(0);
    expect(performance.now() - startMs).toBeGreaterThan(1_000);
  });

  test("that arrives during or right after startup, it shuts down cleanly", async () => {
    const port = String(await freePort());
    for (const path of ["/healthz", "/readyz"]) {
      const child = spawnTidings(["serve"], { ...environment, HOST: "127.0.0.1", PORT: port }, "");
      const isUp = () => fetch(`http://127.0.0.1:${port}${path}`).then(({ status }) => status === 200);
      while (!(await isUp().catch(() => false))) await Bun.sleep(1);
      child.kill("SIGTERM");
      expect([path, await child.exited]).toEqual([path, 0]);
    }
  });

  test("requests in progress are answered, their events stored, and the exit code is 0", async () => {
    await using app = await testProcess();
    const stored = new Set<string>();
    const rejected: string[] = [];
    let isOver = false;
    const clients = Promise.all(
      Array.from({ length: 32 }, async (_, client) => {
        for (let n = 0; !isOver; n++) {
          const response = await app.post({ channel: "a", name: `${client} ${n}` }).catch(() => null);
          // Once it no longer listens, connections are refused. Every response is a 201.
          if (!response) return;
          if (response.status === 201) stored.add(((await response.json()) as { event: Event }).event.id);
          else rejected.push(`${response.status} ${await response.text()}`);
        }
      }),
    );
    await until(() => stored.size > 100);
    const startMs = performance.now();
    const { code, stderr } = await app.end("SIGTERM");
    isOver = true;
    await clients;
    expect([code, stderr]).toEqual([0, ""]);
    expect(performance.now() - startMs).toBeLessThan(drainTimeoutMs);
    expect(rejected).toEqual([]);
    await app.start();
    const { events } = (await (await app.request("/api/events")).json()) as { events: Event[] };
    const ids = new Set(events.map(({ id }) => id));
    expect([...stored].filter((id) => !ids.has(id))).toEqual([]);
  });

  test("a request whose body is still arriving gets its 201", async () => {
    await using app = await testProcess();
    let finish = () => {};
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('{"channel":"a",'));
        finish = () => {
          controller.enqueue(Buffer.from('"name":"slow"}'));
          controller.close();
        };
      },
    });
    const answered = app.request("/api/events", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    await Bun.sleep(200);
    const ended = app.end("SIGTERM");
    await Bun.sleep(300);
    finish();
    expect((await answered).status).toBe(201);
    expect((await ended).code).toBe(0);
  });

  test("open streams and idle connections don't delay it", async () => {
    await using app = await testProcess();
    const stream = await app.request("/api/events/stream");
    await (await app.request("/healthz")).text();
    const startMs = performance.now();
    expect((await app.end("SIGTERM")).code).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(drainTimeoutMs);
    expect(await stream.text().catch(() => "")).not.toContain("event: event");
  });
});
