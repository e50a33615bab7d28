// @engines sqlite, postgres, clickhouse
/** Effects of a wrong clock: events get the clock's dates, and nothing else breaks. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Event } from "../event/event.ts";
import { serve } from "../serve.ts";
import { engine } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { untilFannedOut } from "../testing/until.ts";

const daysMs = 3 * 86_400_000;

let skewMs: number;
let app: TestApp;
beforeEach(async () => {
  skewMs = 0;
  app = await testApp({}, () => Date.now() + skewMs);
});
afterEach(() => app[Symbol.asyncDispose]());

async function record(name: string, address = app.address): Promise<Event> {
  const response = await fetch(`${address}/api/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": app.key },
    body: JSON.stringify({ channel: "c", name, notify: true }),
  });
  expect([response.status, name]).toEqual([201, name]);
  return ((await response.json()) as { event: Event }).event;
}

/** Expects an event to have the machine's current date. */
function expectDated({ createdAt }: Event): void {
  expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(30_000);
}

test("a clock that was ahead leaves later dates right, across restarts and on other nodes", async () => {
  const before = await record("before");
  skewMs = daysMs;
  const ahead = await record("ahead");
  expect(Date.parse(ahead.createdAt) - Date.now()).toBeGreaterThan(daysMs - 30_000);
  skewMs = 0;
  const events = [before, await record("same process")];
  await app.restart();
  events.push(await record("restarted"), await record("restarted again"));
  if (engine === "postgres") {
    const other = await serve(app.config);
    events.push(await record("another node", other.address));
    await other.stop();
  }
  for (const event of events) expectDated(event);
  expect(await app.list()).toEqual([ahead, ...events.toReversed()]);
  for (const event of [ahead, ...events]) {
    expect(await (await app.request(`/api/events/${event.id}`)).json()).toEqual({ ok: true, event });
    // It is found by the server's id too.
    expect((await app.post({ channel: "c", name: "again", id: event.id })).status).toBe(200);
  }
});

test("streams resume without a gap after a clock was ahead, in order of arrival", async () => {
  const stream = await openStream(app);
  await record("before");
  const { id } = (await stream.next("event"))!;
  stream.close();
  skewMs = daysMs;
  await record("ahead");
  skewMs = 0;
  await record("after");
  await app.restart();
  await record("restarted");
  using resumed = await openStream(app, "", { "last-event-id": id! });
  const names = async (count: number) => (await resumed.events(count)).map(({ name }) => name);
  expect(await names(3)).toEqual(["ahead", "after", "restarted"]);
  await record("live");
  expect(await names(1)).toEqual(["live"]);
});

test("deliveries and channels have the clock's date too, so none waits for the future", async () => {
  skewMs = daysMs;
  await record("ahead");
  skewMs = 0;
  await app.restart();
  const event = await record("after");
  await untilFannedOut(app);
  const rows = await app.running.store.control
    .selectFrom("deliveries")
    .select("createdAt")
    .where("eventId", "=", event.id)
    .execute();
  expect(rows.length).toBeGreaterThan(0);
  for (const { createdAt } of rows) expect(Math.abs(createdAt - Date.now())).toBeLessThan(30_000);
});

test("an impossible clock rejects events until it is right", async () => {
  const good = await record("good");
  for (const wrongMs of [0, Date.UTC(2150, 0, 1)]) {
    skewMs = wrongMs - Date.now();
    const response = await app.post({ channel: "c", name: "bad" });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      type: "/problems/clock-wrong",
      detail: expect.stringContaining(`clock shows ${wrongMs === 0 ? 1970 : 2150}`),
    });
  }
  skewMs = 0;
  const next = await record("next");
  expectDated(next);
  expect(await app.list()).toEqual([next, good]);
});
