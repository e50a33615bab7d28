// @engines postgres
// @long

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { serve } from "../serve.ts";
import { databaseFile } from "../storage/sqlite/open.ts";
import { expectPostgresConsistent } from "../testing/consistency.ts";
import { clearMoves, expectMoved, fill, newDatabase, queryRows, requestsTo } from "../testing/moves.ts";
import { runTidings } from "../testing/server-process.ts";
import { testConfig } from "../testing/test-app.ts";
import { untilJobDone } from "../testing/until.ts";

const filledEvents = 3_000;

afterAll(clearMoves);

test("what a running server has is copied ahead, and the move then brings all that changed", async () => {
  const { directory, key } = await fill(filledEvents);
  const url = await newDatabase();
  const running = await serve(await testConfig({ dataDirectory: directory, databaseUrl: null }));
  const { request, send } = requestsTo(running, key);
  const copyAhead = () => runTidings(["migrate-to", url, "--while-running"], { TIDINGS_DATA: directory });
  const countCopied = async () => {
    const [row] = await queryRows<{ events: number }>(url, "SELECT count(*)::integer AS events FROM events");
    return row!.events;
  };

  let isOver = false;
  let posted = 0;
  const posting = (async () => {
    for (; !isOver; posted++) {
      const { status } = await send("/api/events", "POST", {
        ...{ channel: `meanwhile ${posted % 7}`, name: "posted", userId: `user ${posted % 50}` },
        notify: posted % 10 === 0,
        ...(posted % 4 === 0 && { createdAt: Date.now() - posted * 1_000 }),
      });
      expect(status).toBe(201);
    }
  })();
  const first = await copyAhead();
  expect([first.code, first.stdout]).toEqual([0, expect.stringContaining("events are copied. To finish")]);
  const afterFirst = await countCopied();
  expect(afterFirst).toBeGreaterThanOrEqual(filledEvents);

  await untilJobDone({ request }, await request("/api/users/user%205", { method: "DELETE" }));
  await untilJobDone({ request }, await request("/api/channels/meanwhile%203", { method: "DELETE" }));
  await send("/api/users/u%2F1", "PUT", { plan: "free" });
  const second = await copyAhead();
  expect([second.code, second.stderr]).toEqual([0, expect.stringContaining("Copying")]);
  expect(await countCopied()).toBeGreaterThan(afterFirst);
  isOver = true;
  await posting;
  await send("/api/events", "POST", { channel: "c", name: "last" });
  await running.stop();
  expect(posted).toBeGreaterThan(100);

  // A server deletes deliveries after a while.
  using database = new Database(databaseFile(directory), { readwrite: true, strict: true });
  const { changes } = database.run(
    "DELETE FROM deliveries WHERE event_id IN (SELECT event_id FROM deliveries ORDER BY event_id LIMIT 3)",
  );
  expect(changes).toBeGreaterThan(0);
  database.close();
  await expectMoved(url, directory);
  await expectPostgresConsistent(url);
});
