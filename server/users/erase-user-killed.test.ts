// @long
/** A kill while a user is erased loses no other event, and the erasure goes on at the next start. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { databaseFile } from "../storage/sqlite/directory.ts";
import { expectConsistent } from "../testing/consistency.ts";
import { effort } from "../testing/engine.ts";
import { testProcess } from "../testing/server-process.ts";
import { tracesOf } from "../testing/traces.ts";
import { until } from "../testing/until.ts";

const kills = effort(6, 30);
const batchEvents = 500;
const batchesOfRound = 6;
/** Rows that are added and removed, and how many of them for each that stays. */
const copies = 40_000;
const keptCopyEvery = 5;
const withinMs = 120_000;

type App = Awaited<ReturnType<typeof testProcess>>;
type Job = { id: string; state: string };

test("after kills at any point of an erasure, the user is gone and all others' events are there once", async () => {
  await using app = await testProcess();
  /** The ids of all events that are not of an erased user. */
  const kept: string[] = [];
  let killedAfterRemoval = 0;
  /** From the removal of the user's events to the end of the erasure, in the round without a kill. */
  let cleaningMs = 0;
  for (let round = 0; round <= kills; round++) {
    const userId = `Leaver${round}Quux@example.com`;
    for (let batch = 0; batch < batchesOfRound; batch++) kept.push(...(await postMixed(app, userId)));
    leaveCopies(app, userId);
    const { job } = await json<{ job: Job }>(app, `/api/users/${encodeURIComponent(userId)}`, {
      method: "DELETE",
    });
    const isOver = async () => (await json<{ job: Job }>(app, `/api/jobs/${job.id}`)).job.state === "done";
    const isRemoved = async () => (await listed(app, `?userId=${encodeURIComponent(userId)}`)).length === 0;
    // Every other one is killed while the events are removed, the rest while the files are cleaned: each round later.
    const isEarly = round % 2 === 1;
    if (!isEarly) await until(isRemoved, withinMs);
    const removedMs = performance.now();
    if (round > 0) {
      await Bun.sleep(((round - Math.random()) / kills) * cleaningMs);
      const wasOver = await isOver();
      await app.end("SIGKILL");
      if (!isEarly && !wasOver) killedAfterRemoval++;
      await app.start();
    }
    await until(isOver, withinMs);
    if (round === 0) cleaningMs = performance.now() - removedMs;
    // Also a part of the id, whose end SQLite has overwritten.
    for (const trace of [userId, userId.split("@")[0]!]) expect(await tracesOf(app.config, trace)).toBe("");
  }
  expect(killedAfterRemoval).toBeGreaterThan(0);
  expect((await listed(app)).sort()).toEqual(kept.sort());
  await app.end("SIGTERM");
  expect(await expectConsistent(app.config)).toBe(kept.length);
}, 900_000);

/** Leaves copies of a text in unallocated space: SQLite moves rows to other pages when it inserts between them. */
function leaveCopies(app: App, text: string): void {
  using database = new Database(databaseFile(app.config.dataDirectory));
  for (const pragma of ["busy_timeout = 30000", "secure_delete = ON"]) database.run(`PRAGMA ${pragma}`);
  database.run(
    `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?1)
     INSERT INTO users (project_id, user_id, properties, updated_at)
     SELECT 1, 'copy ' || hex(randomblob(8)), CASE WHEN n % ?2 = 0 THEN '{}' ELSE ?3 END, 1 FROM numbers`,
    [copies, keptCopyEvery, text.padEnd(200)],
  );
  database.run("DELETE FROM users WHERE user_id LIKE 'copy %' AND properties <> '{}'");
}

/** Records events of many users, some of them of the given one. Returns the ids of the others. */
async function postMixed(app: App, userId: string): Promise<string[]> {
  const events = Array.from({ length: batchEvents }, (_, n) => ({
    channel: `c${n % 4}`,
    name: `Name ${n % 7}`,
    userId: n % 3 === 0 ? userId : `user ${n % 11}`,
    tags: { n: String(n), ...(n % 3 === 0 && { email: userId }) },
    ...(n % 6 === 0 && { description: `${"x".repeat(n * 10)} by ${userId}` }),
  }));
  const { results } = await json<{ results: { id: string }[] }>(app, "/api/events", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(events),
  });
  return results.flatMap(({ id }, n) => (events[n]!.userId === userId ? [] : [id]));
}

async function listed(app: App, query = ""): Promise<string[]> {
  return (await json<{ events: { id: string }[] }>(app, `/api/events${query}`)).events.map(({ id }) => id);
}

async function json<T>(app: App, path: string, init: RequestInit = {}): Promise<T> {
  const response = await app.request(path, init);
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}
