// @engines sqlite, postgres, clickhouse
/** Paths, computed from rows and from columns, equal those of a plain computation over all events. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../../core/limits.ts";
import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { EventFilter } from "../../event/filter.ts";
import { parseSearch } from "../../event/search.ts";
import { userHashText } from "../../event/user-hash.ts";
import { nextTurn } from "../../scheduling/turns.ts";
import { type AnalysisStore, openAnalysisStore } from "../../testing/analysis-store.ts";
import { effort, storeEngines } from "../../testing/engine.ts";
import { noPeople } from "../../testing/no-people.ts";
import type { CountedPathUsers, PathNode, PathPlace, PathsQuery } from "./path-queries.ts";
import { paths } from "./paths.ts";
import type { Sources } from "./scan.ts";

const startMs = Date.UTC(2026, 0, 31);
const minuteMs = 60_000;
const minutes = 3 * 24 * 60;

const msOf = ({ createdAt }: Event) => Date.parse(createdAt);
const byName = (a: Event, b: Event) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/** A user's anchor and steps. */
type Way = { anchor: Event; steps: Event[] };

/** The ways of all users, computed plainly. */
function waysOf(events: readonly Event[], query: PathsQuery): Way[] {
  const { anchor: anchorFilter, steps: stepFilter, direction, windowMs, length, mergesRepeats } = query;
  const { fromMs, toMs } = query.range;
  const sign = direction === "after" ? 1 : -1;
  const own = events.filter((event) => event.userId !== "" && msOf(event) >= fromMs && msOf(event) < toMs);
  return [...Map.groupBy(own, ({ userId }) => userId).values()].flatMap((taken) => {
    const anchors = taken.filter((event) => matches(anchorFilter, event));
    // Of several that could be the anchor, one that would be a step is none.
    const [anchor] = anchors.toSorted(
      (a, b) =>
        msOf(a) - msOf(b) || byName(a, b) || Number(matches(stepFilter, b)) - Number(matches(stepFilter, a)),
    );
    if (!anchor) return [];
    const around = taken
      .filter((event) => event !== anchor && matches(stepFilter, event))
      .map((event) => ({ event, distance: sign * (msOf(event) - msOf(anchor)) }))
      .filter(({ distance }) => distance >= 0 && distance <= windowMs)
      .toSorted((a, b) => a.distance - b.distance || byName(a.event, b.event))
      .map(({ event }) => event);
    const steps = around.filter(
      (event, index) => !mergesRepeats || event.name !== (around[index - 1] ?? anchor).name,
    );
    return [{ anchor, steps: steps.slice(0, length) }];
  });
}

/** Which node a way comes to at a step, by its name; undefined if it has ended before. */
function placesOf(ways: readonly Way[], { length, names }: PathsQuery) {
  const steps = Array.from({ length }, (_, index) => {
    const users = Map.groupBy(
      ways.flatMap(({ steps }) => steps[index]?.name ?? []),
      (name) => name,
    );
    const named = [...users]
      .map(([name, some]) => ({ name, users: some.length }))
      .toSorted((a, b) => b.users - a.users || (a.name < b.name ? -1 : 1));
    const shown = named.slice(0, named.length === names + 1 ? names + 1 : names);
    return { shown, others: named.slice(shown.length) };
  });
  const nodeAt = ({ steps: taken }: Way, step: number): string | null | undefined => {
    const name = taken[step - 1]?.name;
    if (step === 0 || name === undefined) return step === 0 ? null : undefined;
    return steps[step - 1]!.shown.some((each) => each.name === name) ? name : null;
  };
  return { steps, nodeAt };
}

test("new names in each batch, several in a millisecond, take no longer than others", async () => {
  const count = 90_000;
  const eventOf = (name: string, userId: string) => ({
    ...{ id: "", name, userId, channelId: "c", notify: false, tags: {}, createdAt: "" },
  });
  const sources: Sources = {
    ...noPeople,
    async scan(_query, batches, take) {
      for (let user = 0; user < 100; user++) batches.addEvent(eventOf("anchor", `user ${user}`), startMs - 1);
      for (let at = 0; at < count; at++) {
        const pair = at >> 1;
        batches.addEvent(eventOf(`name ${(at * 7_919) % count}`, `user ${pair % 100}`), startMs + pair);
        if (at % 1_000 === 999) await take(batches.take());
      }
    },
  };
  const query: PathsQuery = {
    ...{ projectId: 1, range: { fromMs: 0, toMs: startMs + count }, anchor: { name: "anchor" }, steps: {} },
    direction: "after",
    ...{ windowMs: count, length: 5, mergesRepeats: false, names: 10 },
  };
  const before = process.cpuUsage();
  const { nodes } = await paths(sources, query, {});
  expect(nodes[0]!.users).toBe(100);
  // Some 0.3 s, and 14 s when all names were sorted again for each batch.
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(4);
}, 60_000);

test("other work goes on while the events of one millisecond are put in order", async () => {
  let others = 0;
  let scans = 0;
  let isDone = false;
  const other = async () => {
    for (; !isDone; others++) await nextTurn(2);
  };
  const sources: Sources = {
    ...noPeople,
    async scan(_query, batches, take) {
      for (let at = 0; at < 300_000; at++)
        batches.addEvent(
          {
            ...{ id: "", name: `name ${at % 50}`, userId: `user ${at % 500}` },
            ...{ channelId: "c", notify: false, tags: {}, createdAt: "" },
          },
          startMs,
        );
      await take(batches.take());
      if (++scans === 2) void other();
    },
  };
  await paths(
    sources,
    {
      ...{ projectId: 1, range: { fromMs: 0, toMs: startMs + 1 }, anchor: {}, steps: {}, direction: "after" },
      ...{ windowMs: 1, length: 5, mergesRepeats: false, names: 10 },
    },
    {},
  );
  isDone = true;
  expect(others).toBeGreaterThan(0);
}, 60_000);

describe.each([...storeEngines])("paths on %s", (engine) => {
  let store: AnalysisStore;
  beforeAll(async () => {
    store = await openAnalysisStore(engine);
  });
  afterAll(() => store?.[Symbol.asyncDispose]());

  const made = fc.record({
    isOther: fc.constantFrom(false, false, false, true),
    channelId: fc.constantFrom("a", "b"),
    name: fc.constantFrom("open", "open", "pay", "leave", "Z", "ä", "rare", "😀", "\uff5e"),
    userId: fc.oneof(
      fc.constant(""),
      fc.nat({ max: 40 }).map((n) => `u${n}`),
    ),
    // Few enough milliseconds that many events share one.
    minute: fc.nat({ max: minutes / 30 }).map((half) => half * 30),
  });

  async function append(count: number, seed: number, change: { minute?: number } = {}): Promise<void> {
    await store.append(
      fc.sample(made, { numRuns: count, seed }).map((one) => {
        const { isOther, minute, ...event } = { ...one, ...change };
        return { isOther, event, createdAtMs: startMs + minute * minuteMs };
      }),
    );
  }

  const filter = fc.oneof(
    fc.constant({}),
    fc.record({ channel: fc.constantFrom("a", "unknown") }),
    fc.record({ name: fc.constantFrom("open", "pay", "ä") }),
    fc.constantFrom("-name:open", "pay OR leave", "channel:a -user:u5").map((q) => ({
      search: parseSearch(q)!,
    })),
  ) as fc.Arbitrary<EventFilter>;
  const query: fc.Arbitrary<PathsQuery> = fc
    .record({
      times: fc.tuple(fc.nat({ max: minutes }), fc.nat({ max: minutes })),
      anchor: filter,
      steps: filter,
      direction: fc.constantFrom("after", "before"),
      windowMs: fc.constantFrom(0, 30, 24 * 60, minutes).map((each) => each * minuteMs),
      length: fc.integer({ min: 1, max: limits.pathSteps }),
      mergesRepeats: fc.boolean(),
      names: fc.integer({ min: 1, max: 4 }),
    })
    .map(({ times: [a, b], ...rest }) => ({
      ...rest,
      projectId: store.projectId,
      range: {
        fromMs: startMs + Math.min(a, b) * minuteMs,
        toMs: startMs + (Math.max(a, b) + 1) * minuteMs,
      },
    })) as fc.Arbitrary<PathsQuery>;

  async function comparePaths(events: readonly Event[], seed: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(query, async (asked) => {
        const ways = waysOf(events, asked);
        const { steps, nodeAt } = placesOf(ways, asked);
        const endedAt = (step: number, name: string | null) =>
          step === asked.length
            ? null
            : ways.filter((way) => way.steps.length === step && nodeAt(way, step) === name).length;
        const nodes: PathNode[] = [
          { step: 0, name: null, names: 0, users: ways.length, ended: endedAt(0, null) },
          ...steps.flatMap(({ shown, others }, index) => {
            const step = index + 1;
            const named = shown.map(({ name, users }) => ({
              ...{ step, name, names: 1, users, ended: endedAt(step, name) },
            }));
            const users = others.reduce((sum, each) => sum + each.users, 0);
            const rest = { step, name: null, names: others.length, users, ended: endedAt(step, null) };
            return others.length > 0 ? [...named, rest] : named;
          }),
        ];
        const links = nodes.flatMap((source, from) =>
          nodes.flatMap((target, to) => {
            if (target.step !== source.step + 1) return [];
            const users = ways.filter(
              (way) => nodeAt(way, source.step) === source.name && nodeAt(way, target.step) === target.name,
            ).length;
            return users > 0 ? [{ source: from, target: to, users }] : [];
          }),
        );
        expect(await store.events.paths(asked, {})).toEqual({ nodes, links });
      }),
      { numRuns: effort(40, 600), seed },
    );
  }

  /** The users of each link are those whom it counts, each with the time of the right event. */
  async function compareUsers(events: readonly Event[], seed: number): Promise<void> {
    const place = fc.record({
      step: fc.nat({ max: limits.pathSteps }),
      name: fc.constantFrom(null, "open", "pay", "ä"),
    });
    await fc.assert(
      fc.asyncProperty(query, place, fc.boolean(), fc.boolean(), async (asked, at, isEnd, hasSource) => {
        const step = Math.min(at.step, asked.length - 1);
        const source: PathPlace = { step, name: step === 0 ? null : at.name };
        const target: PathPlace | null = isEnd ? null : { step: step + 1, name: at.name };
        const needsSource = isEnd || hasSource;
        const counted: CountedPathUsers = {
          ...{ of: "paths", paths: asked, target },
          ...(needsSource && { source }),
        };
        const ways = waysOf(events, asked);
        const { nodeAt } = placesOf(ways, asked);
        const expected = ways
          .filter((way) => !needsSource || nodeAt(way, source.step) === source.name)
          .filter((way) =>
            target === null ? way.steps.length === step : nodeAt(way, target.step) === target.name,
          )
          .map((way) => (target === null ? (way.steps[step - 1] ?? way.anchor) : way.steps[step]!))
          .map((event) => ({ ms: msOf(event), hash: userHashText(event.userId) }))
          .toSorted((a, b) => b.ms - a.ms || (a.hash < b.hash ? -1 : 1));
        const page = { projectId: store.projectId, counted, limit: 100 };
        expect(await store.events.countedUsers(page, {})).toEqual({
          total: expected.length,
          users: expected,
        });
      }),
      { numRuns: effort(40, 600), seed },
    );
  }

  async function compare(): Promise<void> {
    const events = await store.list();
    const seed = Math.floor(Math.random() * 2 ** 31);
    await comparePaths(events, seed);
    await compareUsers(events, seed);
  }

  test("of rows", async () => {
    await append(900, 1);
    await compare();
  });

  test("of columns", async () => {
    await store.indexBlocks();
    await compare();
  });

  test("after late events and removals", async () => {
    await append(60, 2);
    await append(200, 3, { minute: minutes });
    await store.remove("u7");
    await compare();
  });
});
