// @engines clickhouse
/** Servers of ClickHouse that are new, emptied, gone and back. */
import { expect, test } from "bun:test";
import { beforeEachPair, type Member, type PairApp } from "../../testing/clickhouse-pair.ts";
import { wrongPassword } from "../../testing/clickhouse-proxy.ts";
import { until } from "../../testing/until.ts";

let first: Member;
let second: Member;
let app: PairApp;

beforeEachPair((pair) => {
  ({ first, second, app } = pair);
});

test("a new server is filled from the one that has all, and is not read before", async () => {
  await app.restartWith(first);
  const all: string[] = [];
  for (let block = 0; block < 4; block++) {
    all.push(...(await app.record(10, `block ${block}`)));
    await app.moveAll();
  }
  await app.remove("block 1 3");
  all.splice(all.indexOf("block 1 3"), 1);
  const hold = Promise.withResolvers<undefined>();
  let inserted = 0;
  second.proxy.answer = (statement) => {
    if (!statement.startsWith("INSERT INTO events") || ++inserted < 3) return undefined;
    return hold.promise;
  };
  await app.restartWith(second, first);
  await until(() => inserted === 3);
  const { servers, failure } = await app.status();
  expect(failure).toBeNull();
  expect(servers.map(({ isCurrent, lacks }) => [isCurrent, lacks.blocks])).toEqual([
    [false, 2],
    [true, 0],
  ]);
  await app.expectReads(all);
  // It is on its way to the new server.
  await app.remove("block 2 5");
  all.splice(all.indexOf("block 2 5"), 1);
  const more = await app.record(3, "more");
  second.proxy.answer = () => undefined;
  hold.resolve(undefined);
  await app.untilAllHaveAll();
  await first.kill();
  await app.expectReads([...all, ...more]);
});

test("what is removed while a block is copied does not come back", async () => {
  await app.restartWith(first);
  const all = await app.record(10, "a");
  await app.moveAll();
  let isRemoved = false;
  second.proxy.answer = async (statement) => {
    if (statement.startsWith("INSERT INTO events") && !isRemoved) {
      isRemoved = true;
      await app.remove("a 4");
    }
    return undefined;
  };
  await app.restartWith(first, second);
  await app.untilAllHaveAll();
  expect(isRemoved).toBe(true);
  await first.kill();
  await app.expectReads(all.filter((name) => name !== "a 4"));
});

test("an emptied server is recognised, and filled again", async () => {
  const all = await app.record(10, "a");
  await app.moveAll();
  await first.kill();
  await first.revive();
  await first.empty();
  for (let n = 0; n < 5; n++) await app.expectReads(all);
  await app.untilAllHaveAll();
  expect(await first.events()).toBe(10);
  await second.kill();
  await app.expectReads(all);
});

test("a server that left and missed removals that are forgotten begins empty", async () => {
  const all = await app.record(10, "a");
  await app.moveAll();
  await app.restartWith(first);
  await app.move();
  await app.remove("a 4");
  await app.inPostgres("UPDATE clickhouse_servers SET left_at = left_at - 1 WHERE left_at IS NOT NULL");
  await app.move();
  await app.inPostgres("UPDATE shipped_removals SET applied_at = 0");
  await app.move();
  expect(await app.inPostgres("SELECT FROM shipped_removals")).toEqual([]);
  const rest = all.filter((name) => name !== "a 4");
  await app.restartWith(second, first);
  await app.untilAllHaveAll();
  expect(await second.events()).toBe(9);
  await first.kill();
  await app.expectReads(rest);
});

test("a server that left and comes back gets the removals that it missed", async () => {
  const all = await app.record(10, "a");
  await app.moveAll();
  await app.restartWith(first);
  await app.move();
  expect(await app.inPostgres("SELECT FROM clickhouse_servers WHERE left_at IS NOT NULL")).toHaveLength(1);
  await app.remove("a 4");
  const more = await app.record(10, "more");
  await app.moveAll();
  await app.restartWith(second, first);
  await app.untilAllHaveAll();
  expect(await second.events()).toBe(19);
  await first.kill();
  await app.expectReads([...all.filter((name) => name !== "a 4"), ...more]);
});

test("a start needs one server that can be used", async () => {
  const all = await app.record(10, "a");
  await app.moveAll();
  second.proxy.answer = wrongPassword;
  await app.restartWith(second, first);
  await app.expectReads(all);
  expect((await app.status()).servers[0]!.failure).toContain("password is incorrect");
  first.proxy.answer = wrongPassword;
  await expect(app.start(first, second)).rejects.toThrow(/ClickHouse refuses CLICKHOUSE_URL/);
  first.proxy.answer = () => undefined;
  second.proxy.answer = () => undefined;
  await app.untilAllHaveAll();
  await first.kill();
  await app.restartWith(first, second);
  await app.expectReads(all);
  await first.revive();
});

test("a copy of a server is not taken for a second one", async () => {
  await app.record(10, "a");
  await app.moveAll();
  await app.restartWith(first);
  await second.renew();
  await second.run(
    `CREATE TABLE tidings_schema (version UInt32, owner String) ENGINE = MergeTree ORDER BY version`,
  );
  await second.run(
    `CREATE TABLE tidings_server (id String, at DateTime64(6)) ENGINE = MergeTree ORDER BY at`,
  );
  const owner = await first.run("SELECT owner FROM tidings_schema");
  const id = await first.run("SELECT id FROM tidings_server");
  await second.run(`INSERT INTO tidings_schema VALUES (1, '${owner}')`);
  await second.run(`INSERT INTO tidings_server VALUES ('${id}', now64(6))`);
  await app.restartWith(first, second);
  await until(async () => (await app.status()).servers[1]!.failure !== null);
  expect((await app.status()).servers.map(({ failure }) => failure)).toEqual([
    null,
    expect.stringContaining("same database as another"),
  ]);
});
