// @long
import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../config/config.ts";
import type { Event } from "../event/event.ts";
import { databaseFile, openForReading } from "../storage/sqlite/open.ts";
import { environmentOf, testSecretKey } from "../testing/engine.ts";
import { startLoad } from "../testing/mixed-load.ts";
import { runTidings, spawnTidings, startServer, testProcess } from "../testing/server-process.ts";
import { testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { openBackupStore } from "./backup-store.ts";
import { CommandRunner } from "./command-runner.ts";
import { listGenerations } from "./generations.ts";
import { BackupSchedule } from "./schedule.ts";

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "tidings-backup-"));
});
afterEach(() => rmSync(scratch, { recursive: true }));

const backup = (dataDirectory: string, to: string, more: string[] = [], environment = {}) =>
  runTidings(["backup", "--to", to, "--json", ...more], { TIDINGS_DATA: dataDirectory, ...environment });
const restore = (dataDirectory: string, from: string, environment = {}) =>
  runTidings(["restore", from], { TIDINGS_DATA: dataDirectory, ...environment });

function eventsIn(dataDirectory: string): number {
  const database = openForReading(databaseFile(dataDirectory));
  const [count] = database.query("SELECT count(*) FROM events").values();
  database.close();
  return count![0] as number;
}

/** A directory with a stopped installation of this many events. */
async function installation(events: number): Promise<string> {
  const dataDirectory = join(scratch, `data-${events}`);
  await using app = await testProcess({ dataDirectory });
  const batch = Array.from({ length: events }, (_, n) => ({
    channel: "a",
    name: `event ${n}`,
    userId: `${n}`,
  }));
  expect((await app.post(batch)).status).toBe(201);
  return dataDirectory;
}

test("a backup under load has every event that was acknowledged before, and is restored elsewhere", async () => {
  await using app = await testProcess();
  using load = startLoad([app], { id: 8, anonymous: 2, batch: 2, idempotent: 2 });
  await load.untilMore(500);
  const before = new Set(load.outcome.acknowledged.values());
  const made = await backup(app.config.dataDirectory, scratch);
  expect(made).toMatchObject({ code: 0, stderr: "" });
  await load.stop();
  const { file } = JSON.parse(made.stdout) as { file: string };

  const elsewhere = join(scratch, "elsewhere");
  const restored = await restore(elsewhere, file);
  expect(restored).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringMatching(/^Restored tidings-/),
  });
  const second = await startServer({ TIDINGS_DATA: elsewhere, TIDINGS_SECRET_KEY: testSecretKey });
  const listing = await fetch(`${second.address}/api/events`, { headers: { "x-api-key": app.key } });
  const { events } = (await listing.json()) as { events: Event[] };
  const ids = new Set(events.map(({ id }) => id));
  expect([...before].filter((id) => !ids.has(id))).toEqual([]);
  await second.end("SIGTERM");
});

test("a restore that is cut off leaves the old database or the new one, whole", async () => {
  const [old, other] = [await installation(3), await installation(2_000)];
  const { stdout } = await backup(other, scratch);
  const { file } = JSON.parse(stdout) as { file: string };
  const start = performance.now();
  await restore(join(scratch, "timed"), file);
  const wholeMs = performance.now() - start;
  const counts = new Set<number>();
  for (let n = 0; n < 8; n++) {
    const child = spawnTidings(["restore", file], { TIDINGS_DATA: old }, "");
    await Bun.sleep(wholeMs * (0.4 + n * 0.08));
    child.kill("SIGKILL");
    await child.exited;
    counts.add(eventsIn(old));
  }
  expect([...counts].filter((count) => count !== 3 && count !== 2_000)).toEqual([]);
  expect(await restore(old, file)).toMatchObject({ code: 0 });
  expect(eventsIn(old)).toBe(2_000);
  // One that was cut off may have made only the directory, or replaced the database already.
  const kept = readdirSync(old)
    .filter((name) => name.startsWith("replaced-"))
    .map((name) => join(old, name))
    .filter((directory) => existsSync(databaseFile(directory)));
  expect(kept.map(eventsIn)).toContain(3);
});

test("a restore is refused with the reason, and changes nothing", async () => {
  const data = await installation(5);
  const { file } = JSON.parse((await backup(data, scratch)).stdout) as { file: string };
  const stderr = async (from: string) => {
    const ended = await restore(data, from);
    expect([ended.code, eventsIn(data)]).toEqual([1, 5]);
    return ended.stderr;
  };
  expect(await stderr(join(scratch, "none"))).toBe(`There is no file ${join(scratch, "none")}.\n`);
  mkdirSync(join(scratch, "empty"));
  expect(await stderr(join(scratch, "empty"))).toBe(`There is no backup in ${join(scratch, "empty")}.\n`);
  const text = join(scratch, "text.db");
  writeFileSync(text, "not a database, but a text that is long enough to look like one");
  expect(await stderr(text)).toContain("text.db can't be restored: it is damaged");
  const cut = join(scratch, "cut.db.zst");
  writeFileSync(cut, readFileSync(file));
  truncateSync(cut, readFileSync(file).length - 100);
  expect(await stderr(cut)).toContain("cut.db.zst can't be restored: it is ");
  const newer = join(scratch, "newer.db");
  writeFileSync(newer, Bun.zstdDecompressSync(readFileSync(file)));
  const database = new Database(newer);
  database.run("PRAGMA user_version = 9999");
  database.close();
  expect(await stderr(newer)).toContain("was written by a newer version of Tidings (schema 9999;");
  const server = await startServer({ TIDINGS_DATA: data, TIDINGS_SECRET_KEY: testSecretKey });
  expect(await stderr(file)).toContain(`Process ${server.pid} (a server, since `);
  await server.end("SIGTERM");
});

test("rollback restores the snapshot of the last upgrade and keeps what it replaced", async () => {
  const data = await installation(7);
  expect((await runTidings(["rollback"], { TIDINGS_DATA: data })).stderr).toStartWith("There is no snapshot");
  const older = await installation(4);
  writeFileSync(`${databaseFile(data)}.before-9`, readFileSync(databaseFile(older)));
  const ended = await runTidings(["rollback"], { TIDINGS_DATA: data });
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining("Now start the version") });
  expect(eventsIn(data)).toBe(4);
});

test("a schedule makes backups when they are due, keeps the newest, and tells of failures", async () => {
  const to = join(scratch, "backups");
  let nowMs = Date.now();
  const errors: unknown[] = [];
  const infos: unknown[] = [];
  await using app = await testApp();
  const { control } = app.running.store;
  const config = { ...app.config, backupTo: to, backupHours: 2, backupKeep: 7 };
  const schedule = new BackupSchedule({
    control,
    config,
    commands: new CommandRunner(config.dataDirectory),
    onError: (error) => errors.push(error),
    onInfo: (message, fields) => infos.push([message, fields]),
    onFailed: async () => {},
    onWorking: async () => {},
    now: () => nowMs,
  });
  const environment = environmentOf(app.config);
  process.env.TIDINGS_SECRET_KEY = app.config.secretKey!;
  await schedule.look();
  await schedule.look();
  expect(errors).toEqual([]);
  const [name] = readdirSync(to);
  expect(readdirSync(to)).toEqual([name!]);
  const file = join(to, name!);
  expect(infos).toEqual([
    [
      "made a scheduled backup",
      { file, bytes: statSync(file).size, events: expect.any(Number), ms: expect.any(Number) },
    ],
  ]);
  nowMs += 3 * 3_600_000;
  await until(async () => {
    // Names have seconds.
    await schedule.look();
    expect(errors).toEqual([]);
    return readdirSync(to).length === 2;
  });
  expect(await backup(environment.TIDINGS_DATA!, to, ["--keep", "1"])).toMatchObject({ code: 0 });
  expect(readdirSync(to)).toHaveLength(1);
  rmSync(to, { recursive: true });
  writeFileSync(to, "in the way");
  nowMs += 3 * 3_600_000;
  await schedule.look();
  expect(String(errors[0])).toContain(`The backup to ${to} failed: `);
  expect(schedule.failure).toContain("failed");
  schedule.close();
});

// It has no types.
const { default: S3rver } = (await import("s3rver" as string)) as {
  default: new (options: object) => { run: () => Promise<{ port: number }>; close: () => Promise<void> };
};
let s3: InstanceType<typeof S3rver>;
let s3Settings: Record<string, string>;
beforeAll(async () => {
  s3 = new S3rver({
    port: 0,
    address: "127.0.0.1",
    silent: true,
    directory: mkdtempSync(join(tmpdir(), "tidings-s3-")),
    configureBuckets: [{ name: "backups", configs: [] }],
  });
  const { port } = await s3.run();
  s3Settings = {
    TIDINGS_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    TIDINGS_S3_REGION: "us-east-1",
    TIDINGS_S3_ACCESS_KEY_ID: "S3RVER",
    TIDINGS_S3_SECRET_ACCESS_KEY: "S3RVER",
  };
});
afterAll(() => s3.close());

test("a continuous backup goes to an S3-compatible store, and comes back as it was at a time", async () => {
  const place = "s3://backups/continuous";
  await using app = await testProcess({}, undefined, {
    ...s3Settings,
    TIDINGS_BACKUP_TO: place,
    TIDINGS_BACKUP_MODE: "continuous",
    TIDINGS_BACKUP_SECONDS: "1",
  });
  const store = openBackupStore(place, readConfig(s3Settings));
  await until(async () => (await listGenerations(store)).some(({ bases }) => bases.length > 0));
  expect((await app.post({ channel: "a", name: "first" })).status).toBe(201);
  await Bun.sleep(1_500);
  const between = new Date().toISOString();
  await Bun.sleep(100);
  expect((await app.post({ channel: "a", name: "second" })).status).toBe(201);
  await app.end("SIGTERM");
  const count = async (...args: string[]) => {
    const elsewhere = mkdtempSync(join(scratch, "restored-"));
    const environment = { TIDINGS_DATA: elsewhere, ...s3Settings };
    expect(await runTidings(["restore", place, ...args], environment)).toMatchObject({ code: 0 });
    return eventsIn(elsewhere);
  };
  expect(await count("--at", between)).toBe((await count()) - 1);
});

test("backups go to an S3-compatible store and come back", async () => {
  const data = await installation(6);
  const place = "s3://backups/tidings";
  const made = await backup(data, place, [], s3Settings);
  expect(made.code).toBe(0);
  const { file } = JSON.parse(made.stdout) as { file: string };
  expect(file).toMatch(/^s3:\/\/backups\/tidings\/tidings-\d{8}T\d{6}Z\.db\.zst$/);
  for (const from of [file, place]) {
    const elsewhere = mkdtempSync(join(scratch, "restored-"));
    expect(await restore(elsewhere, from, s3Settings)).toMatchObject({ code: 0 });
    expect(eventsIn(elsewhere)).toBe(6);
  }
  const wrong = await restore(data, "s3://nothing/x", s3Settings);
  expect([wrong.code, eventsIn(data)]).toEqual([1, 6]);
});
