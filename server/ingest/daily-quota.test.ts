// @engines sqlite, postgres
// @long postgres
import { afterAll, afterEach, beforeAll, expect, jest, test } from "bun:test";
import type { AppendResult } from "../storage/event-store.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { DailyQuota } from "./daily-quota.ts";

const noonMs = Date.UTC(2026, 2, 27, 12);
const dayMs = 24 * 60 * 60 * 1_000;
const project = { projectId: 1, eventsPerDay: 10 };
const created: AppendResult = { kind: "created" };

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterEach(() => void jest.useRealTimers());
afterAll(() => app[Symbol.asyncDispose]());

/** A node's quotas, at a time that the test sets. */
function node(startMs: number) {
  const clock = { nowMs: startMs };
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const quota = new DailyQuota(app.running.store.control, { now: () => clock.nowMs, onError });
  const reserve = async (events: number) => quota.reserve(await quota.of(project), project, events);
  const record = async (events: number) => {
    const reservation = await reserve(events);
    await reservation.use(async () => Array.from({ length: reservation.events }, () => created));
    return reservation.events;
  };
  return { clock, errors, quota, reserve, record };
}
const storedOn = async (nowMs: number) => {
  const rows = app.running.store.control.selectFrom("dailyEvents").select("events");
  return (await rows.where("day", "=", nowMs / dayMs - 0.5).executeTakeFirst())?.events;
};

test("a project has as many events as its quota has left, and those that weren't recorded are returned", async () => {
  const { quota, reserve, record } = node(noonMs);
  expect(await record(3)).toBe(3);
  const reservation = await reserve(9);
  expect(reservation.events).toBe(7);
  expect(await record(1)).toBe(0);
  const duplicate: AppendResult = { kind: "duplicate", json: "{}" };
  await reservation.use(async () => [created, new Error("disk full"), duplicate, created]);
  expect(await record(9)).toBe(5);
  await quota.close();
  expect(await storedOn(noonMs)).toBe(10);
});

test("what is released, not stored at all or fails is returned", async () => {
  const { quota, reserve } = node(noonMs + dayMs);
  (await reserve(10)).release();
  expect(await (await reserve(10)).use(async () => null)).toBeNull();
  const failed = (await reserve(10)).use(() => Promise.reject(new Error("disk full")));
  await expect(failed).rejects.toThrow("disk full");
  expect((await reserve(11)).events).toBe(10);
  await quota.close();
});

test("a project without a quota is not counted", async () => {
  const { quota } = node(noonMs);
  const unlimited = { projectId: 1, eventsPerDay: null };
  expect(quota.of(unlimited)).toBeNull();
  const reservation = quota.reserve(null, unlimited, 5_000);
  expect(reservation.events).toBe(5_000);
  // Also if the quota was set or removed since the count was read.
  expect(quota.reserve(null, project, 11).events).toBe(11);
  expect(quota.reserve((await quota.of(project))!, unlimited, 11).events).toBe(11);
  expect(await reservation.use(async () => [created])).toEqual([created]);
  await quota.close();
});

test("days are those of the clock by default", async () => {
  const quota = new DailyQuota(app.running.store.control, { onError() {} });
  const { retryAfterSeconds } = quota.exceeded(project).options as { retryAfterSeconds: number };
  expect(retryAfterSeconds).toBeWithin(1, 24 * 60 * 60 + 1);
  await quota.close();
});

test("nodes learn of each other's events within a second, without waiting in the second half of it", async () => {
  const nowMs = noonMs + 2 * dayMs;
  const [one, two] = [node(nowMs), node(nowMs)];
  expect(await one.record(4)).toBe(4);
  await two.record(1);
  await one.quota.close();
  two.clock.nowMs += 499;
  expect(two.quota.of(project)).not.toBeInstanceOf(Promise);
  two.clock.nowMs += 1;
  const count = two.quota.of(project);
  if (count === null || count instanceof Promise) throw new Error("The count is read in the background.");
  // Those that are being stored count as well.
  const meanwhile = await two.reserve(10);
  expect(meanwhile.events).toBe(9);
  meanwhile.release();
  await count.sync;
  expect(count).toMatchObject({ stored: 5, pending: 0, syncing: 0, readAtMs: nowMs + 500 });
  expect((await two.reserve(10)).events).toBe(5);
  two.clock.nowMs += 999;
  expect(two.quota.of(project)).not.toBeInstanceOf(Promise);
  await count.sync;
  two.clock.nowMs += 1_000;
  expect(two.quota.of(project)).toBeInstanceOf(Promise);
  await two.quota.of(project);
  // Also after the clock was set back.
  two.clock.nowMs -= 2_000;
  expect(two.quota.of(project)).toBeInstanceOf(Promise);
  await two.quota.close();
});

test("what a node counted is stored after a second", async () => {
  const nowMs = noonMs + 8 * dayMs;
  jest.useFakeTimers();
  const { quota, record } = node(nowMs);
  await record(3);
  jest.advanceTimersByTime(1_000);
  jest.useRealTimers();
  await until(async () => (await storedOn(nowMs)) === 3);
  expect(quota.of(project)).toMatchObject({ pending: 0 });
  await quota.close();
});

test("a day begins at midnight UTC, and what is left of the former one is stored", async () => {
  const nowMs = noonMs + 4 * dayMs;
  const { clock, quota, record } = node(nowMs);
  clock.nowMs += dayMs / 2 - 1;
  expect(await record(10)).toBe(10);
  expect(quota.exceeded(project)).toMatchObject({
    code: "quota-reached",
    options: { detail: expect.stringContaining("10 events a day"), retryAfterSeconds: 1 },
  });
  clock.nowMs += 1;
  expect(await record(4)).toBe(4);
  expect(quota.exceeded(project)).toMatchObject({ options: { retryAfterSeconds: 24 * 60 * 60 } });
  await quota.close();
  await until(async () => (await storedOn(nowMs)) === 10);
  expect(await storedOn(nowMs + dayMs)).toBe(4);
});

test("a count that can't be stored is kept and reported, and a deleted project's is not stored", async () => {
  const { clock, errors, quota } = node(noonMs + 6 * dayMs);
  const deleted = { projectId: 4_711, eventsPerDay: 10 };
  const count = (await quota.of(deleted))!;
  await quota.reserve(count, deleted, 2).use(async () => [created, created]);
  clock.nowMs += 1_000;
  await quota.of(deleted);
  expect(count).toMatchObject({ stored: 0, pending: 0 });
  const { control } = app.running.store;
  await control.schema.alterTable("dailyEvents").renameTo("away").execute();
  await quota.reserve(count, deleted, 2).use(async () => [created, created]);
  clock.nowMs += 500;
  quota.of(deleted);
  await count.sync?.catch(() => {});
  await control.schema.alterTable("away").renameTo("dailyEvents").execute();
  expect(count).toMatchObject({ stored: 0, pending: 2, syncing: 0 });
  expect(errors).toHaveLength(1);
  await quota.close();
});
