import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import grafana from "../../docs/grafana.json";
import { engine, environmentOf } from "../testing/engine.ts";
import { startServer } from "../testing/server-process.ts";
import { preparedConfig, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

const monitoring = readFileSync(join(import.meta.dir, "../../docs/monitoring.md"), "utf8");
const token = "a-token-of-sixteen-characters";
const bearer = { headers: { authorization: `Bearer ${token}` } };

/** The samples of a scrape, by name and labels. */
function samplesIn(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}

type Family = { type: string; help: string; samples: Map<string, number> };

/**
 * Parses a scrape strictly (https://prometheus.io/docs/instrumenting/exposition_formats/): each metric has its help and
 * its type, once, before its samples, which stand together. Throws for anything else.
 */
function familiesIn(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let [name, help] = ["", ""];
  expect(text).toEndWith("\n");
  for (const line of text.slice(0, -1).split("\n")) {
    if (line === "") continue;
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line);
    if (comment?.[1] === "HELP") {
      [name, help] = [comment[2]!, comment[3]!];
      if (families.has(name)) throw new Error(`${name} is declared twice`);
      continue;
    }
    if (comment) {
      if (comment[2] !== name || families.has(name))
        throw new Error(`the type of ${comment[2]} is misplaced`);
      families.set(name, { type: comment[3]!, help, samples: new Map() });
      continue;
    }
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$/.exec(
      line,
    );
    if (!sample) throw new Error(`not a sample: ${line}`);
    const [, sampled, labels = "", value] = sample;
    const family = families.get(name);
    if (!family) throw new Error(`${sampled} has no type`);
    const suffix = sampled!.slice(name.length);
    const suffixes = family.type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
    if (!sampled!.startsWith(name) || !suffixes.includes(suffix))
      throw new Error(`${sampled} is not a sample of ${name}, a ${family.type}`);
    const key = `${sampled}{${labels}}`;
    if (family.samples.has(key)) throw new Error(`${key} is there twice`);
    if (!/^[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)$|^NaN$/.test(value!))
      throw new Error(`not a number: ${line}`);
    family.samples.set(key, Number(value));
  }
  return families;
}

test("metrics are well-formed, named as Prometheus advises, and all in the documentation", async () => {
  await using app = await testApp({ metricsToken: token });
  expect((await app.post({ channel: "a", name: "b" })).status).toBe(201);
  const scrape = async () => (await app.request("/metrics", bearer, null)).text();
  const text = await scrape();
  const families = familiesIn(text);
  for (const [name, { type, help, samples }] of families) {
    // https://prometheus.io/docs/practices/naming/
    expect([name, type]).toEqual([name, expect.stringMatching(/^(?:counter|gauge|histogram)$/)]);
    expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"]);
    expect(name).toMatch(/^(?:tidings|process)_[a-z_]+$/);
    expect(name).not.toMatch(/_(?:ms|milliseconds|kb|mb|count|sum|bucket|gauge|counter|histogram)$/);
    expect(help).toMatch(/^\S.*\w$/);
    for (const value of samples.values()) expect([name, Number.isNaN(value)]).toEqual([name, false]);
  }
  const processor = () => families.get("process_cpu_seconds_total")!.samples;
  expect([...processor().values()][0]).toBeGreaterThan(0);
  const later = familiesIn(await scrape()).get("process_cpu_seconds_total")!.samples;
  expect(later.get("process_cpu_seconds_total{}")!).toBeGreaterThanOrEqual([...processor().values()][0]!);

  const rows = [
    ...monitoring.matchAll(/^\| `((?:tidings|process)_[a-z_]+)` +\| (SQLite|Linux|ClickHouse)?/gm),
  ];
  const here = rows.filter(
    ([, , only]) =>
      only === undefined ||
      (only === "SQLite" ? engine === "sqlite" : only === "Linux" && process.platform === "linux"),
  );
  const documented = here.map(([, name]) => name!);
  // On PostgreSQL the histogram is there, without samples.
  if (engine === "postgres") documented.push("tidings_fsync_duration_seconds");
  expect([...families.keys()].sort()).toEqual(documented.sort());
});

const alerts = Bun.file(join(import.meta.dir, "../../docs/alerts.yaml"));

const testFiles = ["alerts.test.yaml", "alerts-after-weeks.test.yaml"];

test("each alert is in the documentation, and has tests", async () => {
  const names = [...(await alerts.text()).matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);
  const documented = [...monitoring.matchAll(/^\| `(Tidings\w+)`/gm)].map(([, name]) => name!);
  expect(documented).toEqual(names);
  const tests = testFiles.map((file) => readFileSync(join(import.meta.dir, file), "utf8")).join("");
  for (const name of names) expect(tests).toContain(`alertname="${name}"`);
});

const hasPromtool = Bun.which("promtool") !== null;
if (!hasPromtool)
  console.log(
    "Skipped: promtool, which checks metrics and alerts, is missing. npm run test:deploy gets it on Debian.",
  );

describe.skipIf(!hasPromtool)("promtool", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-promtool-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  const promtool = (args: string[], stdin = "") => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["promtool", ...args], {
      cwd: directory,
      stdin: Buffer.from(stdin),
    });
    return { exitCode, output: `${stdout}${stderr}` };
  };

  test("accepts the metrics without a remark", async () => {
    await using app = await testApp({ metricsToken: token });
    expect((await app.post({ channel: "a", name: "b" })).status).toBe(201);
    const text = await (await app.request("/metrics", bearer, null)).text();
    expect(promtool(["check", "metrics"], text)).toEqual({ exitCode: 0, output: "" });
  });

  test("accepts the documented alerts, which fire when they should", async () => {
    writeFileSync(join(directory, "alerts.yaml"), await alerts.text());
    for (const file of testFiles) copyFileSync(join(import.meta.dir, file), join(directory, file));
    for (const args of [
      ["check", "rules", "--lint=all", "alerts.yaml"],
      ["test", "rules", ...testFiles],
    ]) {
      const { exitCode, output } = promtool(args);
      expect(exitCode, output).toBe(0);
    }
  });
});

test("metrics are off without a setting", async () => {
  await using app = await testApp();
  expect((await app.request("/metrics")).status).toBe(404);
});

test("metrics are served to the bearer of the token, and tell what happened", async () => {
  await using app = await testApp({ metricsToken: token });
  for (const authorization of ["", "Bearer wrong", token]) {
    const response = await app.request("/metrics", { headers: { authorization } }, null);
    expect([response.status, ((await response.json()) as { type: string }).type]).toEqual([
      401,
      "/problems/key-missing",
    ]);
  }
  for (let n = 0; n < 3; n++) expect((await app.post({ channel: "a", name: "b" })).status).toBe(201);
  expect((await app.post({ channel: "a" })).status).toBe(422);
  const { event } = (await (await app.post({ channel: "a", name: "c" })).json()) as { event: { id: string } };
  expect((await app.request(`/api/events/${event.id}`)).status).toBe(200);
  const response = await app.request("/metrics", bearer, null);
  expect(response.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
  const samples = samplesIn(await response.text());
  const count = (method: string, route: string, status: string) =>
    samples.get(
      `tidings_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`,
    );
  expect(count("POST", "/api/events", "2xx")).toBe(4);
  expect(count("POST", "/api/events", "4xx")).toBe(1);
  expect(count("GET", "/api/events/{id}", "2xx")).toBe(1);
  expect(samples.get('tidings_rejected_requests_total{status="422"}')).toBe(1);
  expect(samples.get("tidings_commit_duration_seconds_count")).toBeGreaterThan(0);
  const commits = samples.get("tidings_commit_duration_seconds_count");
  // PostgreSQL does not tell how long it waited for the disk.
  if (engine === "postgres") expect(samples.get("tidings_fsync_duration_seconds_count")).toBe(0);
  else expect(samples.get("tidings_fsync_duration_seconds_count")).toBe(commits!);
  expect(samples.get("tidings_fsync_duration_seconds_sum")).toBeLessThan(
    samples.get("tidings_commit_duration_seconds_sum")!,
  );
  // It comes from counters, which follow a little later.
  await until(async () => {
    const later = samplesIn(await (await app.request("/metrics", bearer, null)).text());
    return later.get("tidings_unindexed_events")! > 0;
  });
  expect(samples.get("tidings_rejected_events")).toBe(1);
  expect(samples.get("tidings_queued_events")).toBe(0);
  for (const name of ["tidings_database_bytes", "tidings_disk_free_bytes", "process_resident_memory_bytes"])
    expect(samples.get(name)).toBeGreaterThan(10_000);

  // Every metric that the dashboard for Grafana draws exists.
  const drawn = JSON.stringify(grafana).match(/\b(?:tidings|process)_[a-z_]+/g) ?? [];
  const known = new Set([...samples.keys()].map((key) => key.split("{")[0]!));
  expect(drawn.length).toBeGreaterThan(10);
  // Without deliveries there is no sample of their states.
  expect([...new Set(drawn)].filter((name) => !known.has(name) && name !== "tidings_deliveries")).toEqual([]);
});

test("requests have ids, which their problems and slow log lines share", async () => {
  const lines: { msg: string; requestId?: string; route?: string; ms?: number }[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => lines.push(JSON.parse(line)) });
  await using app = await testApp({ slowRequestMs: 20 }, Date.now, log);
  const made = await app.request("/api/channels");
  expect(made.headers.get("x-request-id")).toMatch(/^[\da-f]{8}-[\da-z]+$/);
  const sent = { headers: { "x-request-id": "job-42:a.b" } };
  const unknown = await app.request("/api/events/none", sent);
  expect(unknown.headers.get("x-request-id")).toBe("job-42:a.b");
  expect(await unknown.json()).toMatchObject({ ok: false, requestId: "job-42:a.b" });
  const invalid = await app.request("/api/channels", { headers: { "x-request-id": "a b" } });
  expect(invalid.headers.get("x-request-id")).not.toBe("a b");
  const rejected = await app.request("/api/events", { method: "POST", body: "{", ...sent });
  expect(await rejected.json()).toMatchObject({ requestId: "job-42:a.b" });

  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode('{"channel":"a",'));
      await Bun.sleep(60);
      controller.enqueue(new TextEncoder().encode('"name":"b"}'));
      controller.close();
    },
  });
  const slow = await app.request("/api/events", {
    method: "POST",
    body,
    headers: { "content-type": "application/json", "x-request-id": "slow-1" },
  });
  expect(slow.status).toBe(201);
  const line = lines.find(({ requestId }) => requestId === "slow-1");
  expect(line).toMatchObject({ msg: "slow request", route: "/api/events" });
  expect(line!.ms).toBeGreaterThan(20);
});

test("metrics on an address of their own need no token; SIGHUP reads the log level again", async () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-metrics-"));
  const TIDINGS_CONFIG = join(directory, "tidings.toml");
  writeFileSync(TIDINGS_CONFIG, 'log = "info"\nmetrics_address = "127.0.0.1:0"\n');
  const { config } = await preparedConfig();
  // Without TIDINGS_LOG, which comes before the file.
  const server = await startServer({ ...environmentOf(config), TIDINGS_CONFIG, TIDINGS_LOG: "" });
  const metrics = /"metrics":"([^"]+)"/.exec(server.stdout)![1]!;
  expect((await fetch(metrics)).status).toBe(200);
  expect((await fetch(`${server.address}/metrics`)).status).toBe(404);
  writeFileSync(TIDINGS_CONFIG, 'log = "debug"\nmetrics_address = "127.0.0.1:0"\n');
  process.kill(server.pid, "SIGHUP");
  await until(() => server.stdout.includes('"logLevel":"debug","msg":"read the log level again"'));
  expect((await server.end("SIGTERM")).code).toBe(0);
  rmSync(directory, { recursive: true });
});
