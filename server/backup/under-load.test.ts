// @long
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseFile, openForReading } from "../storage/sqlite/open.ts";
import { effort } from "../testing/engine.ts";
import { runTidings, testProcess } from "../testing/server-process.ts";
import { until } from "../testing/until.ts";

/** Events that are there before, so that the copy takes a while. */
const events = effort(2_000, 500_000);
const perSecond = effort(100, 1_000);
/** POSTs to measure without a backup. */
const measured = effort(20, 10_000);
const tickMs = 10;

type Post = { user: string; ms: number };

/** Sends single events at a steady rate, whether or not the server keeps up, until it is stopped. */
function startPosts(post: (event: object) => Promise<Response>) {
  const done: Post[] = [];
  const failed: unknown[] = [];
  const underWay = new Set<Promise<void>>();
  const startMs = performance.now();
  let sent = 0;
  async function send(user: string): Promise<void> {
    const sentMs = performance.now();
    try {
      const { status } = await post({ channel: "steady", name: "Sent", userId: user });
      if (status === 201) done.push({ user, ms: performance.now() - sentMs });
      else failed.push(status);
    } catch (error) {
      failed.push(error);
    }
  }
  const timer = setInterval(() => {
    for (const due = ((performance.now() - startMs) * perSecond) / 1_000; sent < due; sent++) {
      const sending = send(`user ${sent}`).finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
  }, tickMs);
  return {
    done,
    [Symbol.dispose]: () => clearInterval(timer),
    async stop(): Promise<void> {
      clearInterval(timer);
      await Promise.all(underWay);
      expect(failed).toEqual([]);
    },
  };
}

function quantiles(posts: Post[]): string {
  const sorted = posts.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (share: number) => `${sorted[Math.floor((sorted.length - 1) * share)]!.toFixed(1)} ms`;
  return `${sorted.length} POSTs, median ${at(0.5)}, 99% within ${at(0.99)}, slowest ${at(1)}`;
}

test(`a backup while ${perSecond} events a second arrive has all that were acknowledged before it began`, async () => {
  const scratch = mkdtempSync(join(tmpdir(), "tidings-backup-load-"));
  await using app = await testProcess();
  const batch = 1_000;
  for (let at = 0; at < events; at += batch) {
    const list = Array.from({ length: batch }, (_, n) => ({
      channel: `channel ${n % 7}`,
      name: "Before",
      tags: { n: `${at + n}` },
    }));
    expect((await app.post(list)).status).toBe(201);
  }
  using posts = startPosts(app.post);
  await until(() => posts.done.length >= measured, 60_000);
  const before = [...posts.done];
  const startMs = performance.now();
  const made = await runTidings(["backup", "--to", scratch, "--json"], app.environment);
  const seconds = (performance.now() - startMs) / 1_000;
  const during = posts.done.slice(before.length);
  await posts.stop();
  expect(made).toMatchObject({ code: 0, stderr: "" });
  const { file, bytes } = JSON.parse(made.stdout) as { file: string; bytes: number };

  const elsewhere = join(scratch, "elsewhere");
  expect(await runTidings(["restore", file], { TIDINGS_DATA: elsewhere })).toMatchObject({ code: 0 });
  const exported = await runTidings(["export", "-", "--channel", "steady"], {
    ...app.environment,
    TIDINGS_DATA: elsewhere,
  });
  expect(exported).toMatchObject({ code: 0 });
  const lines = exported.stdout.split("\n").filter(Boolean);
  const users = new Set(lines.map((line) => (JSON.parse(line) as { userId: string }).userId));
  using database = openForReading(databaseFile(elsewhere));
  const { restored } = database.query("SELECT count(*) AS restored FROM events").get() as {
    restored: number;
  };
  expect(before.filter(({ user }) => !users.has(user))).toEqual([]);
  expect(restored).toBeGreaterThanOrEqual(events + before.length);
  if (effort(false, true)) {
    console.log(`Without a backup: ${quantiles(before)}.`);
    console.log(`During one of ${bytes} bytes, ${seconds.toFixed(1)} s: ${quantiles(during)}.`);
  }
  rmSync(scratch, { recursive: true });
}, 600_000);
