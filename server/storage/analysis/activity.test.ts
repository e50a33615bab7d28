// @engines sqlite, postgres, clickhouse
/** In which periods users are active, from rows and from columns, equals a plain computation over all events. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { EventFilter } from "../../event/filter.ts";
import { parseSearch } from "../../event/search.ts";
import { userHashText } from "../../event/user-hash.ts";
import { type AnalysisStore, openAnalysisStore } from "../../testing/analysis-store.ts";
import { effort, storeEngines } from "../../testing/engine.ts";
import type { ActivityQuery, CountedActiveUsers } from "./activity-queries.ts";

const startMs = Date.UTC(2026, 0, 31);
const hourMs = 3_600_000;
const hours = 60 * 24;

const msOf = ({ createdAt }: Event) => Date.parse(createdAt);

/** The periods of each user, with their events in the range and whether they had one before. */
function activeUsers(events: readonly Event[], { filter, bounds, historyFromMs }: ActivityQuery) {
  const own = events.filter((event) => event.userId !== "" && matches(filter, event));
  return [...Map.groupBy(own, ({ userId }) => userId).values()].flatMap((taken) => {
    const inRange = taken.filter((event) => msOf(event) >= bounds[0]! && msOf(event) < bounds.at(-1)!);
    if (inRange.length === 0) return [];
    const periodOf = (event: Event) => bounds.findLastIndex((fromMs) => fromMs <= msOf(event));
    const isEarlier = historyFromMs !== null && taken.some((event) => msOf(event) < bounds[0]!);
    const periods = [...new Set(inRange.map(periodOf))].toSorted((a, b) => a - b);
    const firstIn = (period: number) => inRange.find((event) => periodOf(event) === period);
    return [{ periods, isEarlier, firstIn, last: inRange.at(-1)! }];
  });
}

describe.each([...storeEngines])("activity on %s", (engine) => {
  let store: AnalysisStore;
  beforeAll(async () => {
    store = await openAnalysisStore(engine);
  });
  afterAll(() => store?.[Symbol.asyncDispose]());

  const made = fc.record({
    isOther: fc.constantFrom(false, false, false, true),
    event: fc.record({
      channelId: fc.constantFrom("a", "b"),
      name: fc.constantFrom("open", "pay"),
      userId: fc.oneof(
        fc.constant(""),
        fc.nat({ max: 60 }).map((n) => `u${n}`),
      ),
    }),
    createdAtMs: fc.nat({ max: hours }).map((hour) => startMs + hour * hourMs),
  });
  const append = (count: number, seed: number) => store.append(fc.sample(made, { numRuns: count, seed }));

  const filter = fc.oneof(
    fc.constant({}),
    fc.constant({ name: "pay" }),
    fc.constantFrom("-user:u5 channel:a", "open OR user:u3").map((q) => ({ search: parseSearch(q)! })),
  ) as fc.Arbitrary<EventFilter>;
  const query = fc
    .record({
      filter,
      // Up to three words of bits.
      bounds: fc.uniqueArray(fc.nat({ max: hours }), { minLength: 2, maxLength: 80 }),
      isFirstEver: fc.boolean(),
    })
    .map(
      ({ filter, bounds, isFirstEver }): ActivityQuery => ({
        ...{ projectId: store.projectId, filter, historyFromMs: isFirstEver ? startMs : null },
        bounds: bounds.toSorted((a, b) => a - b).map((hour) => startMs + hour * hourMs),
      }),
    );

  async function compareActivity(events: readonly Event[], seed: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(query, async (asked) => {
        const users = activeUsers(events, asked);
        const length = asked.bounds.length - 1;
        const counts = Array.from({ length }, (_, index) => index + 1);
        expect(await store.events.activity(asked, {})).toEqual({
          users: users.length,
          periods: counts.map((_, period) => ({
            active: users.filter(({ periods }) => periods.includes(period)).length,
            new: users.filter(({ periods, isEarlier }) => periods[0] === period && !isEarlier).length,
          })),
          byCount: counts.map((count) => users.filter(({ periods }) => periods.length === count).length),
          last: counts.map((last) => users.filter(({ periods }) => periods.at(-1)! >= length - last).length),
        });
      }),
      { numRuns: effort(40, 500), seed },
    );
  }

  async function compareUsers(events: readonly Event[], seed: number): Promise<void> {
    const which: fc.Arbitrary<CountedActiveUsers["which"]> = fc.oneof(
      fc.record({
        period: fc.nat({ max: 5 }),
        isNew: fc.option(fc.boolean(), { nil: undefined }),
      }),
      fc.record({ count: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ last: fc.integer({ min: 1, max: 5 }) }),
    );
    await fc.assert(
      fc.asyncProperty(query, which, async (activity, which) => {
        const length = activity.bounds.length - 1;
        const found = activeUsers(events, activity).flatMap(({ periods, isEarlier, firstIn, last }) => {
          if ("count" in which) return periods.length === which.count ? last : [];
          if ("last" in which) return periods.at(-1)! >= length - which.last ? last : [];
          const isNew = periods[0] === which.period && !isEarlier;
          return which.isNew === undefined || which.isNew === isNew ? (firstIn(which.period) ?? []) : [];
        });
        const users = found
          .map((event) => ({ ms: msOf(event), hash: userHashText(event.userId) }))
          .toSorted((a, b) => b.ms - a.ms || (a.hash < b.hash ? -1 : 1));
        const counted: CountedActiveUsers = { of: "activity", activity, which };
        const page = { projectId: store.projectId, counted, limit: 100 };
        expect(await store.events.countedUsers(page, {})).toEqual({ total: users.length, users });
      }),
      { numRuns: effort(40, 500), seed },
    );
  }

  async function compare(): Promise<void> {
    const events = await store.list();
    const seed = Math.floor(Math.random() * 2 ** 31);
    await compareActivity(events, seed);
    await compareUsers(events, seed);
  }

  test("of rows", async () => {
    await append(700, 1);
    await compare();
  });

  test("of columns", async () => {
    await store.indexBlocks();
    await compare();
  });

  test("after late events and removals", async () => {
    await append(40, 2);
    await store.remove("u7");
    await compare();
  });
});
