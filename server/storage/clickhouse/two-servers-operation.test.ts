// @engines clickhouse
/** What operators see of two servers: metrics, the doctor, and the way back to PostgreSQL alone. */
import { expect, test } from "bun:test";
import { beforeEachPair, type Member, metricsToken, type PairApp } from "../../testing/clickhouse-pair.ts";
import { environmentOf } from "../../testing/engine.ts";
import { runTidings, startServer } from "../../testing/server-process.ts";
import { until } from "../../testing/until.ts";

let first: Member;
let second: Member;
let app: PairApp;

beforeEachPair((pair) => {
  ({ first, second, app } = pair);
});

const nameOf = ({ url }: Member) => new URL(url).host + new URL(url).pathname;

/** The lines of the doctor about ClickHouse and counters, without advice. */
async function doctor(): Promise<string[]> {
  const { stdout } = await runTidings(["doctor"], environmentOf(app.storage));
  return stdout.split("\n").filter((line) => /^(?:ok {2}|WARN|FAIL) (?:clickhouse|counters):/.test(line));
}

async function metric(name: string, member: Member): Promise<number | undefined> {
  const response = await app.request("/metrics", { headers: { authorization: `Bearer ${metricsToken}` } });
  const start = `tidings_clickhouse_${name}{server="${nameOf(member)}"} `;
  const line = (await response.text()).split("\n").find((each) => each.startsWith(start));
  return line === undefined ? undefined : Number(line.slice(start.length));
}

test("metrics and the doctor tell of each server", async () => {
  await app.record(10, "a");
  await app.moveAll();
  expect(await doctor()).toEqual([
    `ok   clickhouse: ${nameOf(first)}: It has 10 events in 1 blocks, as they were moved.`,
    "ok   counters: No fault found.",
    `ok   clickhouse: ${nameOf(second)}: It has 10 events in 1 blocks, as they were moved.`,
  ]);
  await second.kill();
  await app.remove("a 4");
  await app.record(10, "more");
  await app.moveAll();
  await until(async () => (await metric("server_current", second)) === 0);
  await until(async () => (await metric("server_lacking_events", second)) === 10);
  expect(await metric("server_up", second)).toBe(0);
  expect(await metric("server_owed_removals", second)).toBe(1);
  expect(await metric("server_current", first)).toBe(1);
  expect(await doctor()).toEqual([
    `ok   clickhouse: ${nameOf(first)}: It has 19 events in 2 blocks, as they were moved.`,
    "ok   counters: No fault found.",
    expect.stringContaining(`FAIL clickhouse: ${nameOf(second)}: It can't be read: `),
  ]);
  await app.stop();
  await second.revive();
  expect((await doctor())[2]).toBe(
    `WARN clickhouse: ${nameOf(second)}: It lacks 1 blocks and 1 removals, and is not read.`,
  );
  await app.restartWith(first, second);
  await app.untilAllHaveAll();
  await second.run("DELETE FROM events WHERE name = 'a 5' SETTINGS lightweight_deletes_sync = 2");
  expect((await doctor())[2]).toMatch(
    /^FAIL clickhouse: .+: Events that the counters know and ClickHouse lacks: 1/,
  );
});

test("all events move back from a server that has all of them", async () => {
  const all = await app.record(10, "a");
  await app.moveAll();
  await first.kill();
  all.push(...(await app.record(10, "more")));
  await app.moveAll();
  await app.remove("a 4");
  await app.stop();
  // It lacks a block, and the events of the removal are still there.
  await first.revive();
  const { CLICKHOUSE_URL, ...alone } = environmentOf(app.storage);
  const left = await runTidings(["leave-clickhouse"], { ...alone, CLICKHOUSE_URL: CLICKHOUSE_URL! });
  expect([left.code, left.stdout]).toEqual([0, expect.stringContaining("PostgreSQL has all events")]);
  expect(await app.inPostgres("SELECT FROM clickhouse_servers")).toEqual([]);
  const server = await startServer(alone);
  const checked = await runTidings(["doctor"], alone);
  expect(checked.stdout).not.toContain("FAIL");
  await server.end("SIGTERM");
  const kept = await app.inPostgres("SELECT body FROM events");
  expect(kept.length).toBe(all.length - 1);
});
