// @long
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSegment } from "../storage/segment.ts";
import { databaseFile, openForReading } from "../storage/sqlite/open.ts";
import { SegmentDirectory } from "../storage/sqlite/segment-directory.ts";
import { effort } from "../testing/engine.ts";
import { longTest } from "../testing/long-test.ts";
import { startLoad } from "../testing/mixed-load.ts";
import { runTidings, spawnTidings, testProcess } from "../testing/server-process.ts";
import { tracesOf } from "../testing/traces.ts";
import { until, untilJobDone } from "../testing/until.ts";

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "tidings-continuous-"));
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

const folderPattern = /^\d{8}T\d{6}Z-[\da-f]{8}$/;

/** A server with a continuous backup, and what is where it goes. */
async function continuous(environment: Record<string, string> = {}) {
  const place = join(scratch, "backups");
  const app = await testProcess({ metricsToken: "metrics-token-of-tests" }, undefined, {
    TIDINGS_BACKUP_TO: place,
    TIDINGS_BACKUP_MODE: "continuous",
    TIDINGS_BACKUP_SECONDS: "1",
    ...environment,
  });
  const names = () => {
    try {
      return readdirSync(place);
    } catch {
      return [];
    }
  };
  const generations = () => names().filter((name) => folderPattern.test(name));
  const filesIn = (generation: string) => readdirSync(join(place, generation)).sort();
  /** The seconds that the backup is behind, as Prometheus gets them. */
  async function behind(): Promise<number> {
    const headers = { authorization: "Bearer metrics-token-of-tests" };
    const text = await (await fetch(`${app.address}/metrics`, { headers })).text();
    return Number(/^tidings_backup_behind_seconds (\S+)$/m.exec(text)?.[1]);
  }
  return {
    app,
    place,
    behind,
    generations,
    filesIn,
    backups: () => names().filter((name) => name.endsWith(".db.zst")),
    segments: () =>
      generations()
        .flatMap(filesIn)
        .filter((name) => name.endsWith(".segment")),
    /** Resolves when there is a backup that segments can be applied to. */
    async restorable(count = 1): Promise<void> {
      await until(() => generations().some((each) => filesIn(each).some((name) => name.endsWith(".json"))));
      await until(() => names().filter((name) => name.endsWith(".db.zst")).length >= count);
    },
  };
}

/** Restores into a new directory. */
async function restored(
  place: string,
  args: string[] = [],
  dataDirectory = join(scratch, `to-${Math.random()}`),
) {
  const ended = await runTidings(["restore", place, "--json", ...args], { TIDINGS_DATA: dataDirectory });
  expect(ended).toMatchObject({ code: 0 });
  return {
    dataDirectory,
    ...(JSON.parse(ended.stdout) as {
      restored: string;
      events: number;
      reached: string;
      missing: string | null;
    }),
  };
}

function namesIn(dataDirectory: string, channel: string): string[] {
  const database = openForReading(databaseFile(dataDirectory));
  const rows = database
    .query("SELECT json_extract('{' || body || '}', '$.name') AS name, body FROM events")
    .all() as { name: string; body: string }[];
  database.close();
  return rows.filter(({ body }) => body.includes(`"${channel}"`)).map(({ name }) => name);
}

test("what was deleted by mistake is there again, as it was a second before", async () => {
  const { app, place, restorable } = await continuous();
  await using _ = app;
  await restorable();
  const batch = (channel: string, count: number) =>
    app.post(Array.from({ length: count }, (_, n) => ({ channel, name: `${channel} ${n}` })));
  expect((await batch("orders", 500)).status).toBe(201);
  expect((await batch("later", 20)).status).toBe(201);
  // Recovery points are a second apart.
  await Bun.sleep(1_500);
  const before = new Date();
  await Bun.sleep(1_000);
  const channels = (await (await app.request("/api/channels")).json()) as {
    channels: { name: string; id: string }[];
  };
  expect(channels.channels.map(({ name }) => name)).toContain("orders");
  const deleted = await app.request("/api/channels/orders", { method: "DELETE" });
  expect(deleted.ok).toBe(true);
  await until(async () => {
    const { events } = (await (await app.request("/api/events?channel=orders&limit=1")).json()) as {
      events: unknown[];
    };
    return events.length === 0;
  });
  expect((await batch("after", 5)).status).toBe(201);
  await app.end("SIGTERM");

  const now = await restored(place);
  expect(namesIn(now.dataDirectory, "orders")).toEqual([]);
  expect(namesIn(now.dataDirectory, "after")).toHaveLength(5);
  expect(now.missing).toBeNull();

  const then = await restored(place, ["--at", before.toISOString()]);
  expect(namesIn(then.dataDirectory, "orders")).toHaveLength(500);
  expect(namesIn(then.dataDirectory, "later")).toHaveLength(20);
  expect(namesIn(then.dataDirectory, "after")).toEqual([]);
  const reachedMs = Date.parse(then.reached);
  expect(reachedMs).toBeLessThanOrEqual(before.getTime());
  // Nothing was recorded in the last second and a half.
  expect(before.getTime() - reachedMs).toBeLessThan(5_000);
  expect(then.missing).toBeNull();

  const doctor = await runTidings(["doctor", "--json"], { TIDINGS_DATA: then.dataDirectory });
  const { findings } = JSON.parse(doctor.stdout) as { findings: { state: string; check: string }[] };
  expect(findings.filter(({ state }) => state === "problem")).toEqual([]);
  const long = await runTidings(["restore", place, "--at", "2 weeks ago"], {
    TIDINGS_DATA: join(scratch, "no"),
  });
  expect(long).toMatchObject({ code: 1, stderr: expect.stringContaining("after that time") });
});

test("an idle server stores nothing, and one that stopped cleanly continues without a new backup", async () => {
  const { app, segments, restorable, generations, backups } = await continuous();
  await using _ = app;
  await restorable();
  await until(async () => {
    const count = segments().length;
    await Bun.sleep(3_000);
    return segments().length === count;
  });
  await app.end("SIGTERM");
  const before = [generations(), backups()];
  await app.start();
  expect((await app.post({ channel: "a", name: "after the restart" })).status).toBe(201);
  const count = segments().length;
  await until(() => segments().length > count);
  expect([generations(), backups()]).toEqual(before);
});

const kills = effort(3, 20);

longTest(
  `after ${kills} kills under load, all that was acknowledged is restored, and each time a server starts`,
  async () => {
    const { app, place, restorable, generations } = await continuous();
    await using _ = app;
    await restorable();
    using load = startLoad(
      [app],
      { id: 8, anonymous: 0, batch: 2, idempotent: 0 },
      { allowUnavailable: true },
    );
    for (let n = 0; n < kills; n++) {
      await load.untilMore(200);
      // At any step of capturing and storing.
      await Bun.sleep(Math.random() * 1_500);
      await app.end("SIGKILL");
      await app.start();
    }
    await load.untilMore(200);
    const outcome = await load.stop();
    await app.end("SIGTERM");
    // Each start continued where the log was.
    expect(generations()).toHaveLength(1);
    const { dataDirectory, missing } = await restored(place);
    expect(missing).toBeNull();
    const database = openForReading(databaseFile(dataDirectory));
    const { count } = database.query("SELECT count(*) AS count FROM events").get() as { count: number };
    const original = openForReading(databaseFile(app.config.dataDirectory));
    expect(count).toBe(
      (original.query("SELECT count(*) AS count FROM events").get() as { count: number }).count,
    );
    expect(count).toBeGreaterThanOrEqual(outcome.acknowledged.size);
    original.close();
    database.close();
  },
  600_000,
);

longTest(
  `a restore to a time that is killed leaves the old database or the new one, ${kills} times`,
  async () => {
    const { app, place, restorable } = await continuous();
    await using _ = app;
    await restorable();
    for (let n = 0; n < 5; n++) {
      await app.post(Array.from({ length: 400 }, (_, at) => ({ channel: "c", name: `${n} ${at}` })));
      await Bun.sleep(1_100);
    }
    await app.end("SIGTERM");
    const target = join(scratch, "target");
    const startMs = performance.now();
    const { events } = await restored(place, [], target);
    const wholeMs = performance.now() - startMs;
    for (let n = 0; n < kills; n++) {
      const child = spawnTidings(["restore", place], { TIDINGS_DATA: target }, "");
      await Bun.sleep(wholeMs * (n / kills));
      child.kill("SIGKILL");
      await child.exited;
      const database = openForReading(databaseFile(target));
      expect(database.query("SELECT count(*) FROM events").values()).toEqual([[events]]);
      database.close();
    }
    expect((await restored(place, [], target)).events).toBe(events);
  },
  600_000,
);

test("a target that is away is reported, and gets everything when it is back", async () => {
  const { app, place, restorable, segments, behind } = await continuous();
  await using _ = app;
  await restorable();
  await until(async () => (await behind()) < 3);
  const generation = readdirSync(place).find((name) => folderPattern.test(name))!;
  const folder = join(place, generation);
  const away = `${folder}-away`;
  await Bun.$`mv ${folder} ${away}`.quiet();
  writeFileSync(folder, "in the way");
  expect((await app.post({ channel: "a", name: "while it is away" })).status).toBe(201);
  await until(async () => (await behind()) > 3);
  expect(statSync(folder).isFile()).toBe(true);
  rmSync(folder);
  await Bun.$`mv ${away} ${folder}`.quiet();
  const count = segments().length;
  await until(() => segments().length > count);
  await app.end("SIGTERM");
  const { dataDirectory } = await restored(place);
  expect(namesIn(dataDirectory, "a")).toContain("while it is away");
});

test("backups beyond those that are kept are removed with their segments", async () => {
  const { app, place, restorable, filesIn, generations, backups } = await continuous({
    TIDINGS_BACKUP_KEEP: "1",
  });
  await using _ = app;
  await restorable();
  for (let n = 0; n < 3; n++) {
    await app.post({ channel: "a", name: `${n}` });
    await Bun.sleep(1_500);
  }
  const [generation] = generations();
  const [first] = filesIn(generation!).filter((name) => name.endsWith(".segment"));
  const made = await runTidings(["backup"], app.environment);
  expect(made).toMatchObject({ code: 0 });
  expect(backups()).toHaveLength(1);
  expect(filesIn(generation!).filter((name) => name.endsWith(".json"))).toHaveLength(1);
  expect(filesIn(generation!)).not.toContain(first!);
  await app.end("SIGTERM");
  expect((await restored(place)).events).toBeGreaterThanOrEqual(3);
  expect(readFileSync(join(place, backups()[0]!)).length).toBeGreaterThan(0);
});

test("an erasure leaves nothing in the data directory, and is in the backup soon", async () => {
  const { app, place, restorable } = await continuous();
  await using _ = app;
  await restorable();
  const userId = "somebody-unusual-4711";
  for (let n = 0; n < 20; n++) await app.post({ channel: "a", name: `${n}`, userId });
  expect(await tracesOf(app.config, userId)).not.toBe("");
  await untilJobDone(app, await app.request(`/api/users/${userId}`, { method: "DELETE" }));
  expect(await tracesOf(app.config, userId)).toBe("");
  // Segments are compressed: what waits is of after the erasure.
  for (const { file } of new SegmentDirectory(app.config.dataDirectory).segments())
    for (const { pages } of readSegment(file))
      for (const [, content] of pages()) expect(content.includes(userId)).toBe(false);
  await app.end("SIGTERM");
  const { dataDirectory: other } = await restored(place);
  expect(namesIn(other, "a")).toEqual([]);
});
