// @engines clickhouse
/** Two servers of ClickHouse: what one does while the other is away, and how that one gets what it missed. */
import { expect, test } from "bun:test";
import { beforeEachPair, type Member, type PairApp } from "../../testing/clickhouse-pair.ts";
import { until } from "../../testing/until.ts";

let first: Member;
let second: Member;
let app: PairApp;

beforeEachPair((pair) => {
  ({ first, second, app } = pair);
});

test("each block is on both servers, and reads ask the first", async () => {
  const all = await app.record(10, "a");
  await app.moveAll();
  expect([await first.events(), await second.events()]).toEqual([10, 10]);
  const asked = { first: 0, second: 0 };
  for (const [name, member] of [
    ["first", first],
    ["second", second],
  ] as const)
    member.proxy.answer = (statement) => {
      if (/FROM events/.test(statement)) asked[name]++;
      return undefined;
    };
  await app.expectReads(all);
  expect(asked.first).toBeGreaterThan(4);
  expect(asked.second).toBe(0);
});

for (const victim of ["first", "second"] as const) {
  test(`while the ${victim} is away, the other answers, and then it gets what it missed`, async () => {
    const [gone, other] = victim === "first" ? [first, second] : [second, first];
    const before = await app.record(10, "before");
    await app.moveAll();
    await gone.kill();
    await app.expectReads(before);
    const meanwhile = await app.record(10, "meanwhile");
    await app.moveAll();
    await app.remove("before 3");
    await app.remove("meanwhile 3");
    const all = [...before, ...meanwhile].filter((name) => !name.endsWith(" 3"));
    await app.expectReads(all);
    expect(await other.events()).toBe(18);
    const told = (await app.status()).servers.find(({ isCurrent }) => !isCurrent)!;
    expect(told).toMatchObject({
      failure: expect.any(String),
      lacks: { blocks: 1, events: 10, removals: 2 },
    });
    expect((await app.status()).failure).toBeNull();
    await gone.revive();
    await app.untilAllHaveAll();
    expect(await gone.events()).toBe(18);
    await other.kill();
    await app.expectReads(all);
    const after = await app.record(5, "after");
    await app.moveAll();
    await app.expectReads([...all, ...after]);
    await other.revive();
    await app.untilAllHaveAll();
    expect([await first.events(), await second.events()]).toEqual([23, 23]);
  });
}

test("a block that is still in PostgreSQL is sent from there when the only server that has it is away", async () => {
  const before = await app.record(10, "before");
  await app.moveAll();
  await second.kill();
  const meanwhile = await app.record(10, "meanwhile");
  await app.move();
  await first.kill();
  await second.revive();
  await until(async () => (await app.names().catch(() => [])).length === 20);
  await app.expectReads([...before, ...meanwhile]);
  await first.revive();
  await app.untilAllHaveAll();
});

test("while both are away, newer events are recorded and read", async () => {
  await app.record(5, "old");
  await app.moveAll();
  await Promise.all([first.kill(), second.kill()]);
  await app.record(3, "new");
  expect((await app.names("?limit=1"))[0]).toStartWith("new");
  const response = await app.request("/api/events?limit=100");
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining("availableFrom")]);
  expect((await app.status()).failure).not.toBeNull();
  await Promise.all([first.revive(), second.revive()]);
  await app.untilAllHaveAll();
  expect((await app.names()).length).toBe(8);
});

test("an answer that fails on its way comes from the other server", async () => {
  const all = await app.record(10, "a");
  await app.moveAll();
  let refused = 0;
  first.proxy.answer = (statement) => {
    if (!/FROM events/.test(statement)) return undefined;
    refused++;
    return new Response(null, { status: 502 });
  };
  await app.expectReads(all);
  expect(refused).toBeGreaterThan(4);
});
