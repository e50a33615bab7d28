// @engines sqlite, postgres, clickhouse
// @long
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engine, environmentOf, makeStorage, removeStorage } from "../../testing/engine.ts";
import { runTidings, spawnTidings } from "../../testing/server-process.ts";
import { openTestStore, prepare, preparedConfig } from "../../testing/test-app.ts";
import { until } from "../../testing/until.ts";

const files = mkdtempSync(join(tmpdir(), "tidings-import-"));
afterAll(() => rmSync(files, { recursive: true }));

/** Storage that a server was started on, which creates the tables in ClickHouse. */
async function startedConfig(): ReturnType<typeof preparedConfig> {
  const prepared = await preparedConfig({});
  await (await openTestStore(prepared.config)).close();
  return prepared;
}

test("an export is the same after an import, also between engines", async () => {
  const { config } = await startedConfig();
  const other = await makeStorage(engine === "sqlite" ? "postgres" : "sqlite");
  await prepare(other);
  const done = async (args: string[], storage: typeof other) =>
    expect(await runTidings(args, environmentOf(storage))).toMatchObject({ code: 0 });
  await done(["seed", "--days", "2"], config);
  const [first, second, table, third] = ["a.ndjson.gz", "b.ndjson.gz", "b.csv", "c.ndjson.gz"].map((name) =>
    join(files, name),
  ) as [string, string, string, string];
  await done(["export", first], config);
  await done(["import", first], other);
  await done(["export", second], other);
  await done(["export", table], other);
  const { config: copy } = await startedConfig();
  await done(["import", table], copy);
  await done(["export", third], copy);
  const textOf = (file: string) => Buffer.from(Bun.gunzipSync(readFileSync(file))).toString();
  expect(textOf(first).split("\n").length).toBeGreaterThan(100);
  expect(textOf(second)).toBe(textOf(first));
  expect(textOf(third)).toBe(textOf(first));
  const [victim, linked] = [join(files, "victim"), join(files, "linked.parquet")];
  writeFileSync(victim, "kept");
  symlinkSync(victim, `${linked}.partial`);
  await done(["export", linked], copy);
  expect(readFileSync(victim, "utf8")).toBe("kept");
  for (const file of [first, table, linked]) expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const storage of [config, other, copy]) await removeStorage(storage);
});

test("everything of a project is the same after an import, also between engines, and a second one adds nothing", async () => {
  const { config, secret } = await startedConfig();
  const other = await makeStorage(engine === "sqlite" ? "postgres" : "sqlite");
  await prepare(other);
  const run = async (args: string[], storage: typeof other, stdin = "") => {
    const ended = await runTidings(args, environmentOf(storage), stdin);
    expect([args, ended.code, ended.stderr]).toEqual([args, 0, expect.any(String)]);
    return ended;
  };
  await run(["seed", "--days", "1"], config);
  await run(["channel", "edit", "orders", "--retention-days", "365", "--description", "Sold"], config);
  await run(["channel", "edit", "orders", "--first-tags", "country,product"], config);
  await run(["channel", "archive", "orders"], config);
  const users = [
    ...Array.from({ length: 3 }, (_, n) => ({
      type: "user",
      userId: `ü${n}`,
      properties: { plan: "pro", "a.b": "", seats: n, trial: n > 1 },
    })),
    { type: "user", userId: "ü3", properties: {}, known: true, ids: ["visitor 1", "visitor 2"] },
    { type: "user", userId: "visitor 3", properties: {}, ids: ["visitor 4"] },
    {
      type: "group",
      groupType: "company",
      id: "äcme",
      properties: { plan: "team" },
      members: ["visitor 3", "ü3"],
    },
    { type: "group", groupType: "company", id: "initech", properties: {}, members: [] },
  ];
  await run(["import", "-"], config, users.map((user) => JSON.stringify(user)).join("\n"));
  const conditions = [
    { type: "events", q: "channel:orders", atLeast: 2, days: 30 },
    { type: "group", match: "any", conditions: [{ type: "lastSeen", beforeDays: 7 }] },
  ];
  await run(["cohort", "create"], config, JSON.stringify({ name: "Buyers", conditions }));
  const ofProject = ["--project", "default"];
  await run(
    ["annotation", "create", "Deployment", "--q", "channel:deploys", "--icon", "🚀", ...ofProject],
    config,
  );
  for (const at of ["2026-11-27", "2026-11-28", "2026-11-28T09:00:00Z"])
    await run(["annotation", "create", "Sale", "--at", at, ...ofProject], config);
  await run(
    ["annotation", "create", "Sale", "--at", "2026-11-28", "--board", "Overview", ...ofProject],
    config,
  );
  const [first, second] = ["all.ndjson.zst", "copy.ndjson"].map((name) => join(files, name)) as [
    string,
    string,
  ];
  await run(["export", first, "--all"], config);
  for (let times = 1; times <= 2; times++) await run(["import", first], other);
  await run(["export", second, "--all"], other);
  const text = Bun.zstdDecompressSync(readFileSync(first)).toString();
  expect(readFileSync(second, "utf8")).toBe(text);
  const types = new Set(
    text
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { type?: string }).type),
  );
  expect([...types]).toEqual([
    "channel",
    "cohort",
    "board",
    "annotation",
    "rule",
    "user",
    "group",
    undefined,
  ]);
  expect(text.match(/"type":"annotation","of":"note","name":"Sale"/g)).toHaveLength(4);
  expect(text).toContain('"icon":"🚀","color":1,"q":"channel:deploys","enabled":true');
  expect(text).toContain('"name":"Sale","icon":null,"color":1,"at":"2026-11-28","board":"Overview"');
  expect(text).toContain(
    '"description":"Sold","retentionDays":365,"firstTags":["country","product"],"archived":true',
  );
  for (const user of users.slice(2)) expect(text).toContain(JSON.stringify(user));
  expect(text).not.toContain(secret);
  for (const storage of [config, other]) await removeStorage(storage);
});

test("an import that is killed continues, and nothing is recorded twice or lost", async () => {
  const { config } = await startedConfig();
  const file = join(files, "many.ndjson");
  const count = 40_000;
  const line = (n: number) =>
    JSON.stringify({ channel: "many", name: `n${n}`, createdAt: 1_767_225_600_000 + n });
  writeFileSync(file, Array.from({ length: count }, (_, n) => `${line(n)}\n`).join(""));
  const args = ["import", file, "--json"];
  const killed = spawnTidings(args, environmentOf(config), "");
  await until(() => existsSync(`${file}.checkpoint`));
  killed.kill("SIGKILL");
  await killed.exited;
  const { config: other } = await startedConfig();
  const elsewhere = await runTidings(args, environmentOf(other));
  expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining("of another import")]);
  await removeStorage(other);
  const { code, stdout, stderr } = await runTidings(args, environmentOf(config));
  expect(stderr).toContain("Continuing after");
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { records: count, accepted: count, rejected: 0 }]);
  expect(existsSync(`${file}.checkpoint`)).toBe(false);
  const { stdout: names } = await runTidings(["export", "-"], environmentOf(config));
  const exported = names
    .trimEnd()
    .split("\n")
    .map((each) => (JSON.parse(each) as { name: string }).name);
  expect(exported).toEqual(Array.from({ length: count }, (_, n) => `n${n}`));
  await removeStorage(config);
});
