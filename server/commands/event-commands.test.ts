import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environmentOf, removeStorage } from "../testing/engine.ts";
import { runTidings } from "../testing/server-process.ts";
import { openTestStore, preparedConfig, type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { filterQuery } from "./filter-args.ts";
import { onOneLine } from "./output.ts";
import { sparkline } from "./stats.ts";

const files = mkdtempSync(join(tmpdir(), "tidings-commands-"));
let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  rmSync(files, { recursive: true });
});

test("without a server, a command records and reads on the data itself, and leaves no key", async () => {
  const { config } = await preparedConfig({});
  const run = (...args: string[]) => runTidings(args, environmentOf(config));
  const logged = await run("log", "Backup done", "--channel", "ops", "-t", "size=2GB", "--tag=by=cron=daily");
  expect(logged).toMatchObject({ code: 0, stderr: "" });
  const tail = await run("tail", "--json");
  expect(JSON.parse(tail.stdout)).toMatchObject({
    id: logged.stdout.trim(),
    name: "Backup done",
    channelId: "ops",
    tags: { size: "2GB", by: "cron=daily" },
  });
  expect((await run("key", "list", "--project", "default")).stdout).not.toContain("Command line");
  const store = await openTestStore(config);
  const keys = await store.control
    .selectFrom("auditLog")
    .select("detail")
    .where("action", "=", "key.created")
    .where("target", "=", "Command line")
    .orderBy("id")
    .execute();
  await store.close();
  expect(keys.map(({ detail }) => JSON.parse(detail).scopes)).toEqual([["ingest"], ["read"]]);
  const wrong = await run("list", "--limt", "3");
  expect(wrong).toEqual({
    code: 2,
    stdout: "",
    stderr: "There is no option --limt. Did you mean --limit? See: tidings list --help\n",
  });
  await removeStorage(config);
});

test("while a server runs, a command uses it, so what is recorded is seen live", async () => {
  const live = await app.request("/api/events/stream?channel=live");
  const port = new URL(app.address).port;
  const logged = await runTidings(
    ["log", "--json"],
    { ...environmentOf(app.config), PORT: port },
    '{"channel":"live","name":"Seen"}',
  );
  expect(logged.stderr).toBe("");
  const { id } = JSON.parse(logged.stdout) as { id: string };
  let streamed = "";
  for await (const bytes of live.body!) {
    streamed += new TextDecoder().decode(bytes);
    if (streamed.includes(id)) break;
  }
  expect(streamed).toContain('"name":"Seen"');
});

describe("against a server elsewhere", () => {
  const run = (args: string[], stdin = "") =>
    runTidings([...args, "--url", app.address], { TIDINGS_API_KEY: app.key }, stdin);

  test("a mapped CSV is imported once, its rejected rows are kept, and users get their properties", async () => {
    const file = join(files, "visits.csv");
    const createdAt = Date.now() - 5_000;
    writeFileSync(
      file,
      `when,who,what,size\n${createdAt},u1,"Uploaded, twice",3\n${createdAt},u2,${"x".repeat(201)},4\n`,
    );
    const args = ["import", file, "--map", "createdAt=when,userId=who,name=what,tags=*", "--channel", "csv"];
    for (let times = 1; times <= 2; times++) {
      const { code, stdout, stderr } = await run([...args, "--json"]);
      expect(code).toBe(3);
      expect(JSON.parse(stdout)).toMatchObject({ records: 2, accepted: 1, rejected: 1 });
      expect(stderr).toContain("Line 3:");
      expect(readFileSync(join(files, "visits.rejected.csv"), "utf8")).toBe(
        `when,who,what,size\n${createdAt},u2,${"x".repeat(201)},4\n`,
      );
    }
    const events = await app.list("?channel=csv");
    expect(events).toMatchObject([
      {
        name: "Uploaded, twice",
        userId: "u1",
        tags: { size: "3" },
        createdAt: new Date(createdAt).toISOString(),
      },
    ]);

    const exported = await run(["export", "-", "--format", "csv", "--tag-columns", "--channel", "csv"]);
    expect(exported.stdout).toStartWith(
      "id,createdAt,channelId,name,userId,notify,icon,event,description,tags.size,tags\r\n",
    );

    const lines = [
      { type: "track", event: "Bought", userId: "u1", messageId: "m1", properties: { plan: "pro" } },
      { type: "identify", userId: "u1", messageId: "m2", traits: { plan: "pro", seats: 5 } },
    ].map((line) => JSON.stringify({ ...line, timestamp: new Date(createdAt).toISOString() }));
    const segment = await run(["import", "-", "--format", "segment", "--channel", "web"], lines.join("\n"));
    expect([segment.code, segment.stderr]).toEqual([
      0,
      expect.stringContaining("Imported 1 event, properties of 1 user"),
    ]);
    const { user } = (await (await app.request("/api/users/u1")).json()) as { user: { properties: unknown } };
    expect(user.properties).toEqual({ plan: "pro", seats: 5 });
  });

  test("a cohort is tried, created, listed with its people, exported and deleted", async () => {
    await app.post([
      { channel: "cli", name: "Order placed", userId: "ann" },
      { channel: "cli", name: "Order placed", userId: "bo" },
      { channel: "cli", name: "Order canceled", userId: "bo" },
    ]);
    const conditions = [
      { type: "events", q: 'channel:cli name:"Order placed"' },
      { type: "events", q: 'name:"Order canceled"', atMost: 0 },
    ];
    const file = JSON.stringify({ name: "Content", conditions });
    const cohort = (args: string[], stdin = "") => run(["cohort", ...args], stdin);
    const tried = await cohort(["preview"], file);
    expect([tried.code, tried.stdout]).toEqual([
      0,
      expect.stringMatching(/^1 of \d+ people, such as ann\n$/),
    ]);
    const created = await cohort(["create"], file);
    expect([created.code, created.stderr]).toEqual([0, ""]);
    const listed = await cohort(["list", "--json"]);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      id: created.stdout.trim(),
      name: "Content",
      people: 1,
    });
    expect((await cohort(["list"])).stdout).toContain("all: events, events");
    const members = await cohort(["members", "Content"]);
    expect(members.stdout).toMatch(/^USER +EVENTS +LAST EVENT +OTHER IDS\nann +1 +20/);
    const exported = await cohort(["export", "Content"]);
    expect(exported.stdout).toMatch(/^userId,events,[^\n]+\r\nann,1,[^\n]+\r\n$/);
    const lines = await cohort(["export", created.stdout.trim(), "--json"]);
    expect(JSON.parse(lines.stdout)).toMatchObject({ userId: "ann", events: 1 });
    expect(await cohort(["delete", "Content"])).toEqual({
      code: 0,
      stdout: "",
      stderr: 'Deleted the cohort "Content".\n',
    });
    const failures: [args: string[], stdin: string, text: string][] = [
      [["members", "Content"], "", 'There is no cohort "Content". List them with: tidings cohort list\n'],
      [["create"], "Content", "Send the cohort as a JSON object on standard input"],
      [["create"], "[]", "Send the cohort as a JSON object on standard input"],
      [["preview"], '{"conditions":[{"type":"events","q":"("}]}', '"conditions.0.q" is not a valid search'],
    ];
    for (const [args, stdin, text] of failures)
      expect([args, await cohort(args, stdin)]).toEqual([
        args,
        { code: 1, stdout: "", stderr: expect.stringContaining(text) },
      ]);
  });

  test("mistakes are told in a sentence", async () => {
    const missing = await runTidings(["list", "--url", app.address], {});
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("Set TIDINGS_API_KEY")]);
    const wrong = await runTidings(["list", "--url", app.address], { TIDINGS_API_KEY: "tdg_sk_no" });
    expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
    expect(wrong.stderr).toMatch(/^[A-Z][^\n]*\.\n$/);
  });
});

test("silent events are recorded, and notify nobody", async () => {
  const send = async (query: string, name: string) => {
    const response = await app.request(`/api/events${query}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify([{ channel: "silence", name, notify: true }]),
    });
    expect(response.status).toBe(201);
    return ((await response.json()) as { results: { id: string }[] }).results[0]!.id;
  };
  type Deliveries = { deliveries: unknown[]; pending: boolean };
  const deliveriesOf = async (id: string) =>
    (await (await app.request(`/api/events/${id}/deliveries`)).json()) as Deliveries;
  const silent = await send("?silent=true", "Quiet");
  const loud = await send("", "Loud");
  await until(async () => (await deliveriesOf(loud)).deliveries.length > 0);
  expect(await deliveriesOf(silent)).toMatchObject({ deliveries: [], pending: false });
  expect((await app.list("?channel=silence")).map(({ name, notify }) => [name, notify])).toEqual([
    ["Loud", true],
    ["Quiet", true],
  ]);
});

test("times of filters, sparklines, and texts that a terminal would obey", () => {
  const nowMs = Date.UTC(2030, 0, 31);
  expect(filterQuery({ from: "36h", to: "2030-01-30" }, nowMs).toString()).toBe(
    "from=2030-01-29T12%3A00%3A00.000Z&to=2030-01-30",
  );
  expect(() => filterQuery({ from: "yesterday" })).toThrow("--from must be an ISO 8601 time");
  expect(sparkline([0, 1, 4, 8])).toBe(" ▁▄█");
  expect(sparkline([0, 0])).toBe("  ");
  expect(onOneLine("a\u001b[31mb\nc")).toBe("a [31mb c");
});
