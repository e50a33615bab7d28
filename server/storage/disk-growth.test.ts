import { expect, test } from "bun:test";
import fc from "fast-check";
import { makeStorage, removeStorage, testWatch } from "../testing/engine.ts";
import { freeBytes } from "./disk.ts";
import { DiskGrowth, type DiskSamples, daysUntilFull, daysUntilFullMax } from "./disk-growth.ts";
import { openSqliteStore } from "./sqlite/index.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const gigabyte = 1e9;

/** Samples every six hours, the last one a moment ago. */
function samplesOf(days: number, freeAt: (day: number) => number): DiskSamples {
  return Array.from({ length: days * 4 + 1 }, (_, index) => [(index / 4) * dayMs, freeAt(index / 4)]);
}

test("a disk that fills evenly is full when what is free is used up", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 14 }),
      fc.double({ min: 0.1, max: 50, noNaN: true }),
      (days, rate) => {
        const samples = samplesOf(days, (day) => (1_000 - rate * day) * gigabyte);
        const now = samples.pop()!;
        expect(daysUntilFull(samples, now)).toBeCloseTo(now[1] / (rate * gigabyte), 3);
      },
    ),
  );
});

test("a copy that was there for six hours changes nothing", () => {
  const samples = samplesOf(5, (day) => (day === 2 ? 20 : 100 - day) * gigabyte);
  const now = samples.pop()!;
  expect(daysUntilFull(samples, now)).toBeCloseTo(95, 0);
});

test("nothing is said in the first day, and a disk that does not fill takes a century", () => {
  expect(daysUntilFull([], [0, gigabyte])).toBeNull();
  expect(daysUntilFull([[0, 2 * gigabyte]], [dayMs - 1, gigabyte])).toBeNull();
  expect(daysUntilFull([[0, 2 * gigabyte]], [dayMs, gigabyte])).toBe(1);
  expect(daysUntilFull([[0, gigabyte]], [dayMs, gigabyte])).toBe(daysUntilFullMax);
  expect(daysUntilFull([[0, gigabyte]], [dayMs, 2 * gigabyte])).toBe(daysUntilFullMax);
});

test("samples are six hours apart, also after a restart, and those of two weeks are kept", async () => {
  const storage = await makeStorage("sqlite");
  const store = await openSqliteStore(storage.dataDirectory, testWatch);
  try {
    const deps = {
      store,
      dataDirectory: storage.dataDirectory,
      onError: (error: unknown) => expect.unreachable(String(error)),
    };
    const startMs = Date.now();
    const stored = async () => {
      const { value } = await store.control
        .selectFrom("settings")
        .select("value")
        .where("name", "=", "diskSamples")
        .executeTakeFirstOrThrow();
      return JSON.parse(value) as DiskSamples;
    };
    for (const hours of [0, 1, 6, 7, 11, 12]) {
      const growth = new DiskGrowth(deps);
      await growth.look(startMs + hours * hourMs + 1_000);
    }
    const times = (await stored()).map(([ms]) => Math.round((ms - startMs) / hourMs));
    expect(times).toEqual([0, 6, 12]);
    const growth = new DiskGrowth(deps);
    await growth.look(startMs + 400 * dayMs);
    await growth.look(startMs + 12 * hourMs + 1_000);
    expect((await stored()).length).toBe(4);
    await growth.look(startMs + 18 * hourMs + 1_000);
    expect((await stored()).map(([ms]) => Math.round((ms - startMs) / hourMs))).toEqual([0, 6, 12, 18]);
    for (let hours = 18; hours < 15 * 24; hours += 3) await growth.look(startMs + hours * hourMs + 1_000);
    expect((await stored()).length).toBe(56);
    expect((await stored()).at(-1)![1]).toBeWithin(0, 2 * freeBytes(storage.dataDirectory));
  } finally {
    await store.close();
    await removeStorage(storage);
  }
});
