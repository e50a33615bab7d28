// @engines sqlite, postgres, clickhouse
// @long
/**
 * A split by a property of users. Each event also has its user's property as a tag, so that a split by the tag, which
 * `analysis.test.ts` compares with plain computations, must say the same.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../../core/limits.ts";
import type { EventFilter } from "../../event/filter.ts";
import { parseSearch } from "../../event/search.ts";
import { type AnalysisStore, openAnalysisStore } from "../../testing/analysis-store.ts";
import { effort, storeEngines } from "../../testing/engine.ts";
import { noPeople } from "../../testing/no-people.ts";
import { countedUsers } from "./counted-users.ts";
import { measure } from "./measure.ts";
import { textOfProperty } from "./property-split.ts";
import type { CountedUsers, Metric, PropertySplit } from "./queries.ts";
import type { Sources } from "./scan.ts";

const startMs = Date.UTC(2026, 0, 31);
const minuteMs = 60_000;
const minutes = 5 * 24 * 60;
const key = "tier";

/** The properties of users: texts, numbers, booleans, names that objects inherit, null and none. */
const properties: Record<string, Record<string, unknown>> = {
  u0: { tier: "pro" },
  u1: { tier: "free", other: 1 },
  u2: { tier: 5 },
  u3: { tier: true },
  u4: { tier: "" },
  u5: { tier: null },
  u6: { other: "pro" },
  u7: {},
  u8: { tier: "__proto__" },
  u9: { tier: "pro" },
};
const tierOf = (userId: string) => textOfProperty(JSON.stringify(properties[userId]?.[key] ?? null));

test("a property's value is a text, and null is none", () => {
  expect(textOfProperty('"b"')).toBe("b");
  expect(textOfProperty("1.5")).toBe("1.5");
  expect(textOfProperty("false")).toBe("false");
  expect(textOfProperty("null")).toBeUndefined();
  expect(textOfProperty(null)).toBeUndefined();
});

test("a property with more values than a split may have is refused, but its users are found", async () => {
  const sources: Sources = {
    ...noPeople,
    async readProperty(_project, _key, take) {
      for (let user = 0; user <= limits.statsSplitValues; user++) take(`u${user}`, `u${user}@example.com`);
    },
    async scan(_query, batches, take) {
      for (const userId of ["u5", "u6", "nobody"])
        batches.addEvent(
          { id: "", name: "open", channelId: "a", userId, notify: false, tags: {}, createdAt: "" },
          startMs,
        );
      take(batches.take());
    },
  };
  const range = { fromMs: startMs, toMs: startMs + 1 };
  const property = { key: "email", value: "u5@example.com" };
  const counted = { of: "events", filter: {}, range, property } as const;
  expect((await countedUsers(sources, { projectId: 1, counted, limit: 10 }, {})).total).toBe(1);
  const bounds = [range.fromMs, range.toMs];
  const split = { by: "user", key: "email" } as const;
  await expect(
    measure(sources, { projectId: 1, filter: {}, bounds, metric: "events", split, series: 5 }, {}),
  ).rejects.toThrow("more than 100000 properties");
});

describe.each([...storeEngines])("splits by a property on %s", (engine) => {
  let store: AnalysisStore;
  beforeAll(async () => {
    store = await openAnalysisStore(engine);
    const { control, projectId } = store;
    for (const [userId, own] of Object.entries(properties))
      await control
        .insertInto("users")
        .values({ projectId, userId, properties: JSON.stringify(own), updatedAt: startMs })
        .execute();
  });
  afterAll(() => store?.[Symbol.asyncDispose]());

  const made = fc
    .record({
      isOther: fc.constantFrom(false, false, false, true),
      channelId: fc.constantFrom("a", "b"),
      name: fc.constantFrom("open", "pay"),
      userId: fc.oneof(
        fc.constant(""),
        fc.nat({ max: 14 }).map((n) => `u${n}`),
      ),
      amount: fc.constantFrom("1", "0.1", "-2.5"),
      minute: fc.nat({ max: minutes / 30 }).map((half) => half * 30),
    })
    .map(({ isOther, channelId, name, userId, amount, minute }) => {
      const tier = tierOf(userId);
      const tags = { amount, ...(tier !== undefined && { tier }) };
      return { isOther, event: { channelId, name, userId, tags }, createdAtMs: startMs + minute * minuteMs };
    });
  const append = (count: number, seed: number) => store.append(fc.sample(made, { numRuns: count, seed }));

  const filter = fc.oneof(
    fc.constant({}),
    fc.constant({ name: "pay" }),
    fc.constantFrom("channel:a -user:u5", "open OR user:u3").map((q) => ({ search: parseSearch(q)! })),
  ) as fc.Arbitrary<EventFilter>;
  const bounds = fc
    .uniqueArray(fc.nat({ max: minutes }), { minLength: 2, maxLength: 5 })
    .map((times) => times.toSorted((a, b) => a - b).map((minute) => startMs + minute * minuteMs));
  const byUser: PropertySplit = { by: "user", key };
  const byTag = { by: "tag", key } as const;
  const seed = () => Math.floor(Math.random() * 2 ** 31);

  async function compareMeasures(): Promise<void> {
    const metric = fc.constantFrom<Metric>("events", "users", "sum", "average", "minimum", "maximum");
    await fc.assert(
      fc.asyncProperty(
        metric,
        filter,
        bounds,
        fc.integer({ min: 1, max: 6 }),
        fc.option(fc.constant(["pro", "5"]), { nil: undefined }),
        async (metric, filter, bounds, series, values) => {
          const { projectId, events } = store;
          const isOfTag = metric !== "events" && metric !== "users";
          const query = {
            projectId,
            filter,
            bounds,
            metric,
            series,
            values,
            ...(isOfTag && { tag: "amount" }),
          };
          const measured = await events.measure({ ...query, split: byUser }, {});
          expect(measured).toEqual(await events.measure({ ...query, split: byTag }, {}));
          if (metric !== "events" || values) return;
          const counts = await events.count({ projectId, filter, bounds, split: byTag, series });
          expect(measured.all.counts).toEqual(counts!.all);
          const found = measured.series.map(({ value, counts }) => ({ value, counts }));
          expect(found).toEqual(counts!.series);
        },
      ),
      { numRuns: effort(40, 500), seed: seed() },
    );
  }

  async function compareFunnelsAndUsers(): Promise<void> {
    const tier = fc.constantFrom("pro", "free", "5", "true", "", "none");
    await fc.assert(
      fc.asyncProperty(filter, filter, bounds, tier, async (first, second, bounds, value) => {
        const { projectId, events } = store;
        const range = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
        const funnel = { projectId, range, steps: [first, second], windowMs: 24 * 60 * minuteMs };
        const found = await events.funnel({ ...funnel, split: byUser, series: 3 }, {});
        expect(found).toEqual(await events.funnel({ ...funnel, split: byTag, series: 3 }, {}));
        const list = (counted: CountedUsers) => events.countedUsers({ projectId, counted, limit: 50 }, {});
        const ofStep = { of: "funnel", step: 1, isLast: false, value } as const;
        expect(await list({ ...ofStep, funnel: { ...funnel, split: byUser } })).toEqual(
          await list({ ...ofStep, funnel: { ...funnel, split: byTag } }),
        );
        const tagged = { ...first, tags: [[key, value]] } as EventFilter;
        expect(await list({ of: "events", filter: first, range, property: { key, value } })).toEqual(
          await list({ of: "events", filter: tagged, range }),
        );
      }),
      { numRuns: effort(30, 400), seed: seed() },
    );
  }

  test("of rows", async () => {
    await append(600, 1);
    await compareMeasures();
    await compareFunnelsAndUsers();
  });

  test("of columns", async () => {
    await store.indexBlocks();
    await compareMeasures();
    await compareFunnelsAndUsers();
  });

  test("after late events and removals", async () => {
    await append(40, 2);
    await store.remove("u9");
    await compareMeasures();
    await compareFunnelsAndUsers();
  });
});
