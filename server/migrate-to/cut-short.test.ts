// @engines postgres
// @long
import { afterAll, beforeAll, expect, test } from "bun:test";
import { serve } from "../serve.ts";
import { expectPostgresConsistent } from "../testing/consistency.ts";
import { effort, makeTables } from "../testing/engine.ts";
import {
  clearMoves,
  expectMoved,
  fill,
  migrateTo,
  newDatabase,
  newDirectory,
  queryRows,
  requestsTo,
} from "../testing/moves.ts";
import { runTidings, spawnTidings } from "../testing/server-process.ts";
import { testConfig } from "../testing/test-app.ts";
import { untilJobDone } from "../testing/until.ts";

/** Enough events to kill the process in the middle. */
const many = effort(5_000, 15_000);
const kills = effort(3, 6);

let directory: string;
let key: string;
beforeAll(async () => {
  ({ directory, key } = await fill(many));
});
afterAll(clearMoves);

test("after a kill at any time, another run completes the move", async () => {
  const url = await newDatabase();
  const progress = async () => {
    const [{ is_there }] = (await queryRows<{ is_there: boolean }>(
      url,
      "SELECT to_regclass('channel_counters') IS NOT NULL AS is_there",
    )) as [{ is_there: boolean }];
    if (!is_there) return 0;
    const [row] = await queryRows<{ events: string }>(
      url,
      "SELECT coalesce(sum(events), 0) AS events FROM channel_counters",
    );
    return Number(row!.events);
  };
  const seen: number[] = [];
  for (let kill = 0; kill < kills; kill++) {
    const goal = (kill * many) / (kills + 1);
    const child = spawnTidings(["migrate-to", url], { TIDINGS_DATA: directory }, "");
    if (kill === 0) await Bun.sleep(300);
    else while (child.exitCode === null && (await progress()) <= goal) await Bun.sleep(1);
    child.kill("SIGKILL");
    await child.exited;
    seen.push(await progress());
  }
  expect(new Set(seen).size).toBeGreaterThan(kills / 2);
  expect(seen.filter((count) => count > 0 && count < many).length).toBeGreaterThanOrEqual(kills / 3);
  // No server starts on an unfinished move.
  const early = await runTidings(["serve"], { DATABASE_URL: url, TIDINGS_DATA: newDirectory(), PORT: "0" });
  expect([early.code, early.stderr]).toEqual([
    1,
    "Tidings can't start: A move into this database is unfinished. Run tidings migrate-to again until it says that everything matches.\n",
  ]);
  await expectMoved(url, directory);
  await expectPostgresConsistent(url);
});

test("a batch that the database rejects leaves nothing that would break the next run", async () => {
  const url = await newDatabase();
  await makeTables(url);
  await queryRows(
    url,
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN IF (SELECT count(*) FROM events) >= 3000 THEN RAISE 'no room'; END IF; RETURN NEW; END $$;
     CREATE TRIGGER fail BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION fail()`,
  );
  const { code, stderr } = await migrateTo(url, directory);
  expect([code, stderr.split("\n").at(-2)]).toEqual([
    1,
    "The move stopped: no room. Run the same command again to continue.",
  ]);
  await queryRows(url, "DROP TRIGGER fail ON events");
  await expectMoved(url, directory);
  await expectPostgresConsistent(url);
});

test("if the database goes away, or on Ctrl+C, it says how to continue", async () => {
  const url = await newDatabase();
  const child = spawnTidings(["migrate-to", url], { TIDINGS_DATA: directory }, "");
  const stderr = new Response(child.stderr).text();
  const count = "SELECT count(*)::integer AS events FROM events";
  for (;;) {
    const rows = await queryRows<{ events: number }>(url, count).catch(() => []);
    if (rows[0] && rows[0].events > 0) break;
  }
  await queryRows(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name LIKE 'tidings %' AND datname = current_database()`,
  );
  expect([await child.exited, await stderr]).toEqual([
    1,
    expect.stringContaining("Run the same command again to continue."),
  ]);
  expect(await stderr).not.toContain("    at ");

  const second = spawnTidings(["migrate-to", url], { TIDINGS_DATA: directory }, "");
  const decoder = new TextDecoder();
  let told = "";
  for await (const chunk of second.stderr) {
    if (!told.includes("Moving") && decoder.decode(chunk).includes("Moving")) second.kill("SIGINT");
    told += decoder.decode(chunk);
  }
  expect([await second.exited, told]).toEqual([130, expect.stringContaining("Stopped. Run the same")]);
  await expectMoved(url, directory);
  await expectPostgresConsistent(url);
});

test("a second run applies what was added and removed since the first", async () => {
  const url = await newDatabase();
  await expectMoved(url, directory);
  const running = await serve(await testConfig({ dataDirectory: directory, databaseUrl: null }));
  const { request, send } = requestsTo(running, key);
  await untilJobDone({ request }, await request("/api/users/user%205", { method: "DELETE" }));
  await untilJobDone({ request }, await request("/api/channels/channel%203", { method: "DELETE" }));
  await send("/api/events", "POST", { channel: "channel 3", name: "again" });
  await send("/api/events", "POST", { channel: "new", name: "later", notify: true });
  await send("/api/users/u%2F1", "PUT", { plan: "free" });
  await running.stop();
  await expectMoved(url, directory);
  await expectMoved(url, directory);
  await expectPostgresConsistent(url);
});
