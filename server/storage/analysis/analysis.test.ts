// @engines sqlite, postgres, clickhouse
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { EventFilter } from "../../event/filter.ts";
import { ArrivalClock } from "../../event/id.ts";
import { parseSearch } from "../../event/search.ts";
import { userHashText } from "../../event/user-hash.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import {
  effort,
  makeStorage,
  openEngineStore,
  removeStorage,
  storeEngines,
  type TestStorage,
} from "../../testing/engine.ts";
import { valueIn } from "../counter-ranges.ts";
import type { Split } from "../split.ts";
import { databaseFile } from "../sqlite/open.ts";
import type { Store } from "../store.ts";
import type { CountedUser, CountedUsers } from "./queries.ts";
import { timeBounds } from "./step-times.ts";
import { FunnelSteps } from "./steps.ts";

const blockEvents = 150;
const startMs = Date.UTC(2026, 0, 31);
const minuteMs = 60_000;
const minutes = 20 * 24 * 60;
/** A time at which all events are old enough for blocks. */
const settledMs = startMs + (minutes + 60) * minuteMs;
const rest = async () => {};

/** Values of the tag `amount` in millionths; null if it is not a number. */
const amounts: Record<string, bigint | null> = {
  "1": 1_000_000n,
  "0.1": 100_000n,
  "0.2": 200_000n,
  "-2.5": -2_500_000n,
  "1e3": 1_000_000_000n,
  "12345678901234567890": 12_345_678_901_234_567_890_000_000n,
  "0.000001": 1n,
  "0.10": 100_000n,
  "999999999999999.999999": 999_999_999_999_999_999_999n,
  "-999999999999999.5": -999_999_999_999_999_500_000n,
  none: null,
  "007": null,
  "0x10": null,
};

describe.each([...storeEngines])("analyses on %s", (engine) => {
  let storage: TestStorage;
  let store: Store;
  let clock: ArrivalClock;
  let projects: [number, number];
  /** Every stored event of the first project, as the listing has it. */
  let events: Event[] = [];

  beforeAll(async () => {
    storage = await makeStorage(engine);
    store = await openEngineStore(storage, blockEvents);
    clock = new ArrivalClock(null);
    projects = [
      (await createProject(store.control, "One", null)).id,
      (await createProject(store.control, "Other", null)).id,
    ];
  });
  afterAll(async () => {
    await store.close();
    await removeStorage(storage);
  });

  const made = fc.record({
    project: fc.constantFrom(0, 0, 0, 0, 1),
    channelId: fc.constantFrom("a", "b", "rare"),
    name: fc.constantFrom("open", "open", "pay", "pay again", "leave"),
    userId: fc.oneof(
      fc.constantFrom("", "often", "ö".repeat(90)),
      fc.nat({ max: 60 }).map((n) => `u${n}`),
    ),
    tags: fc.record(
      {
        plan: fc.constantFrom("pro", "free", "__proto__", "w".repeat(100)),
        amount: fc.constantFrom(...Object.keys(amounts)),
        order: fc.nat().map(String),
      },
      { requiredKeys: [] },
    ),
    // Few enough milliseconds that many events share one.
    minute: fc.nat({ max: minutes / 30 }).map((half) => half * 30),
  });

  async function append(count: number, seed: number, change: { minute?: number } = {}): Promise<void> {
    const results = await store.events.appendAll(
      fc.sample(made, { numRuns: count, seed }).map((one) => {
        const { project, minute, ...event } = { ...one, ...change };
        return acceptedEvent({
          projectId: projects[project]!,
          arrival: clock.next(),
          event,
          createdAtMs: startMs + minute * minuteMs,
        });
      }),
    );
    expect(results.every((result) => "kind" in result && result.kind === "created")).toBe(true);
  }

  async function list(): Promise<void> {
    events = [];
    const decoder = new TextDecoder();
    const query = { projectId: projects[0], filter: {}, order: "asc" as const, format: "ndjson" as const };
    let text = "";
    for await (const chunk of store.events.stream(query)) text += decoder.decode(chunk, { stream: true });
    for (const line of text.split("\n")) if (line !== "") events.push(JSON.parse(line) as Event);
  }

  const filter = fc.oneof(
    fc.constant({}),
    fc.record({ channel: fc.constantFrom("a", "rare", "unknown") }),
    fc.record({ name: fc.constantFrom("open", "pay", "leave") }),
    fc.record({ userId: fc.constantFrom("often", "u3", "") }),
    fc
      .constantFrom("pay", "-plan=pro", "pa*", '"pay again"', "amount=1 OR channel:rare", "free -user:u5")
      .map((q) => ({ search: parseSearch(q)! })),
  ) as fc.Arbitrary<EventFilter>;
  const range = fc
    .uniqueArray(
      fc.oneof(
        fc.constantFrom(startMs - minuteMs, startMs + 40 * 24 * 60 * minuteMs),
        fc.nat({ max: minutes }).map((minute) => startMs + minute * minuteMs),
      ),
      { minLength: 2, maxLength: 6 },
    )
    .map((times) => times.toSorted((a, b) => a - b));
  const split: fc.Arbitrary<Split | undefined> = fc.constantFrom(
    undefined,
    { by: "channel" },
    { by: "name" },
    { by: "tag", key: "plan" },
    { by: "tag", key: "order" },
  );
  const metric = fc.constantFrom("users", "sum", "average", "minimum", "maximum");

  const msOf = ({ createdAt }: Event) => Date.parse(createdAt);
  const within = (fromMs: number, toMs: number, filter: EventFilter) =>
    events.filter((event) => msOf(event) >= fromMs && msOf(event) < toMs && matches(filter, event));

  /** A metric of events, computed plainly. */
  function plainly(metric: string, all: Event[]): number | null {
    if (metric === "users") return new Set(all.map(({ userId }) => userId).filter((id) => id !== "")).size;
    const texts = all.map(({ tags }) => tags.amount!);
    const units = texts.reduce((sum, text) => sum + amounts[text]!, 0n);
    const sum = Number(`${units}e-6`);
    if (metric === "sum") return sum;
    if (texts.length === 0) return null;
    // Enough digits to tell a double from its neighbors.
    if (metric === "average") return Number(`${(units * 10n ** 60n) / BigInt(texts.length)}e-66`);
    return Math[metric === "minimum" ? "min" : "max"](...texts.map(Number));
  }

  async function compareMeasure(seed: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(
        metric,
        filter,
        range,
        split,
        fc.integer({ min: 1, max: 4 }),
        fc.option(
          fc.uniqueArray(fc.constantFrom<string[]>("a", "rare", "pay", "pro", "free", "__proto__", "none")),
          {
            nil: undefined,
          },
        ),
        async (metric, filter, bounds, split, series, values) => {
          const measured = await store.events.measure(
            {
              projectId: projects[0],
              filter,
              bounds,
              metric,
              series,
              split,
              values,
              ...(metric !== "users" && { tag: "amount" }),
            },
            {},
          );
          const all = within(bounds[0]!, bounds.at(-1)!, filter);
          const counted = all.filter(
            ({ tags }) => metric === "users" || (tags.amount !== undefined && amounts[tags.amount] !== null),
          );
          const measuredOf = (some: Event[]) => {
            const buckets = bounds
              .slice(1)
              .map((toMs, bucket) =>
                some.filter((event) => msOf(event) >= bounds[bucket]! && msOf(event) < toMs),
              );
            return {
              counts: buckets.map(({ length }) => length),
              values: buckets.map((bucket) => plainly(metric, bucket)),
              overall: plainly(metric, some),
            };
          };
          const byValue = Map.groupBy(counted, (event) => (split ? valueIn(event, split) : undefined));
          const top = [...byValue.keys()]
            .filter((value) => value !== undefined && values?.includes(value) !== false)
            .map((value) => ({ value: value!, ...measuredOf(byValue.get(value)!) }))
            .toSorted((a, b) => b.overall! - a.overall! || (a.value < b.value ? -1 : 1))
            .slice(0, series);
          const others = counted.filter(
            (event) => split && !top.some(({ value }) => value === valueIn(event, split)),
          );
          const otherValues = new Set(others.map((event) => split && valueIn(event, split)));
          const [only] = otherValues;
          const isNamed = otherValues.size === 1 && only !== undefined && values?.includes(only) !== false;
          const restValue = isNamed ? only : null;
          expect(measured).toEqual({
            all: measuredOf(counted),
            series: top,
            rest: others.length > 0 ? { value: restValue, ...measuredOf(others) } : null,
            ignored: metric === "users" ? 0 : all.filter(({ tags }) => amounts[tags.amount!] === null).length,
          });
        },
      ),
      { numRuns: effort(30, 500), seed },
    );
  }

  async function compareFunnel(seed: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(
        fc.array(filter, { minLength: 2, maxLength: 4 }),
        range,
        fc.constantFrom(60, 24 * 60, 30 * 24 * 60),
        split,
        async (steps, [fromMs, ...later], windowMinutes, split) => {
          const toMs = later.at(-1)!;
          const windowMs = windowMinutes * minuteMs;
          const series = 3;
          const result = await store.events.funnel(
            { projectId: projects[0], range: { fromMs: fromMs!, toMs }, steps, windowMs, split, series },
            {},
          );
          const own = within(fromMs!, toMs, {}).filter(({ userId }) => userId !== "");
          const found: { value: string | undefined; attempt: readonly number[] }[] = [];
          for (const taken of Map.groupBy(own, ({ userId }) => userId).values()) {
            const times = Float64Array.from(taken, msOf);
            const masks = Uint8Array.from(taken, (event) =>
              steps.reduce((mask, step, index) => mask | (matches(step, event) ? 1 << index : 0), 0),
            );
            const order = Uint32Array.from(taken.keys());
            const attempt = new FunnelSteps(steps.length, windowMs).furthest(
              times,
              masks,
              order,
              0,
              taken.length,
            );
            if (attempt.length === 0) continue;
            const values = taken
              .filter((event, index) => msOf(event) === attempt[0] && masks[index]! & 1)
              .map((event) => split && valueIn(event, split))
              .filter((value) => value !== undefined);
            found.push({ value: values.toSorted()[0], attempt });
          }
          const resultOf = (some: typeof found) =>
            steps.map((_, step) => {
              const times = some
                .filter(({ attempt }) => attempt.length > step)
                .map(({ attempt }) => (step === 0 ? 0 : attempt[step]! - attempt[step - 1]!))
                .toSorted((a, b) => a - b);
              const middle = [times[(times.length - 1) >> 1]!, times[times.length >> 1]!];
              const isTimed = step > 0 && times.length > 0;
              const buckets = timeBounds.map((fromMs, index) => {
                const toMs = timeBounds[index + 1] ?? null;
                const users = times.filter((ms) => ms >= fromMs && (toMs === null || ms < toMs)).length;
                return { fromMs, toMs, users };
              });
              const [first, last] = [
                buckets.findIndex(({ users }) => users > 0),
                buckets.findLastIndex(({ users }) => users > 0),
              ];
              return {
                users: times.length,
                medianMs: isTimed ? (middle[0]! + middle[1]!) / 2 : null,
                // The least time that is enough for nine in ten.
                p90Ms: isTimed
                  ? times.find((ms) => times.filter((each) => each <= ms).length * 10 >= times.length * 9)!
                  : null,
                times: isTimed ? buckets.slice(first, last + 1) : [],
              };
            });
          const byValue = Map.groupBy(found, ({ value }) => value);
          const top = [...byValue]
            .filter((entry): entry is [string, typeof found] => entry[0] !== undefined)
            .toSorted(([a, left], [b, right]) => right.length - left.length || (a < b ? -1 : 1))
            .slice(0, series);
          const others = found.filter(({ value }) => !top.some(([known]) => known === value));
          expect(result).toEqual({
            steps: resultOf(found),
            series: top.map(([value, some]) => ({ value, steps: resultOf(some) })),
            rest: split && others.length > 0 ? resultOf(others) : null,
          });
        },
      ),
      { numRuns: effort(20, 400), seed },
    );
  }

  /** A user's way through the periods of a retention table, computed plainly. */
  type Way = { cohort: number; start: Event; returns: (Event | undefined)[] };

  /** The ways of all users in a cohort. */
  function waysOf(start: EventFilter, back: EventFilter, bounds: number[], isFirstEver: boolean): Way[] {
    const periodOf = (ms: number) => bounds.findLastIndex((fromMs) => fromMs <= ms);
    const own = within(isFirstEver ? 0 : bounds[0]!, bounds.at(-1)!, {}).filter(
      ({ userId }) => userId !== "",
    );
    return [...Map.groupBy(own, ({ userId }) => userId).values()].flatMap((taken) => {
      const first = taken.find((event) => matches(start, event));
      if (!first || msOf(first) < bounds[0]!) return [];
      const later = taken.filter((event) => matches(back, event) && msOf(event) >= msOf(first));
      const returns = bounds
        .slice(1)
        .map((_, period) => later.find((event) => periodOf(msOf(event)) === period));
      return [{ cohort: periodOf(msOf(first)), start: first, returns }];
    });
  }

  async function compareRetention(seed: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(filter, filter, range, fc.boolean(), async (start, back, bounds, isFirstEver) => {
        const historyFromMs = isFirstEver ? startMs : null;
        const cohorts = await store.events.retention(
          { projectId: projects[0], bounds, start, return: back, historyFromMs },
          {},
        );
        const ways = waysOf(start, back, bounds, isFirstEver);
        const expected = bounds.slice(1).map((_, period) => {
          const some = ways.filter(({ cohort }) => cohort === period);
          const periods = bounds.slice(1 + period).keys();
          return {
            users: some.length,
            returned: [...periods].map(
              (later) => some.filter(({ returns }) => returns[period + later]).length,
            ),
          };
        });
        expect(cohorts).toEqual(expected);
      }),
      { numRuns: effort(20, 400), seed },
    );
  }

  /** All users whom a number counts, and their total, read in pages. */
  async function pagesOf(counted: CountedUsers, limit: number) {
    const users: CountedUser[] = [];
    const totals = new Set<number>();
    for (;;) {
      const query = { projectId: projects[0], counted, limit, after: users.at(-1) };
      const page = await store.events.countedUsers(query, {});
      totals.add(page.total);
      users.push(...page.users);
      if (page.users.length < limit) return { users, totals: [...totals] };
    }
  }

  const listOf = (some: Event[]) =>
    some
      .map((event) => ({ ms: msOf(event), hash: userHashText(event.userId) }))
      .toSorted((a, b) => b.ms - a.ms || (a.hash < b.hash ? -1 : 1));

  /** The users of each number are those whom it counts, each with the right event, whatever the size of a page. */
  async function compareUsers(seed: number): Promise<void> {
    const ofCohort = fc.record({
      of: fc.constant("cohort" as const),
      cohort: fc.nat({ max: 2 }),
      period: fc.option(fc.nat({ max: 1 })),
      isFirstEver: fc.boolean(),
    });
    const ofFunnel = fc.record({
      of: fc.constant("funnel" as const),
      step: fc.integer({ min: 1, max: 2 }),
      isLast: fc.boolean(),
      value: fc.constantFrom(undefined, "pro", "free", "__proto__", "none"),
      took: fc.constantFrom(
        undefined,
        { fromMs: 0, toMs: 24 * 60 * minuteMs },
        { fromMs: 24 * 60 * minuteMs, toMs: Number.POSITIVE_INFINITY },
      ),
    });
    const ofEvents = fc.record({ of: fc.constant("events" as const) });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(ofCohort, ofFunnel, ofEvents),
        filter,
        filter,
        range.filter(({ length }) => length >= 4),
        fc.integer({ min: 1, max: 70 }),
        async (asked, first, second, bounds, limit) => {
          const projectId = projects[0];
          const whole = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
          const own = within(whole.fromMs, whole.toMs, {}).filter(({ userId }) => userId !== "");
          const byUser = [...Map.groupBy(own, ({ userId }) => userId).values()];
          let counted: CountedUsers;
          let expected: Event[];
          if (asked.of === "events") {
            counted = { of: "events", filter: first, range: whole };
            expected = byUser.flatMap((taken) => taken.findLast((event) => matches(first, event)) ?? []);
          } else if (asked.of === "cohort") {
            const { cohort, isFirstEver } = asked;
            const period = asked.period;
            const historyFromMs = isFirstEver ? startMs : null;
            const retention = { projectId, bounds, start: first, return: second, historyFromMs };
            counted = { of: "cohort", retention, cohort, period };
            const ways = waysOf(first, second, bounds, isFirstEver).filter((way) => way.cohort === cohort);
            expected = ways.flatMap((way) =>
              period === null ? way.start : (way.returns[cohort + period] ?? []),
            );
          } else {
            const { step, isLast, value } = asked;
            const took = step > 1 ? asked.took : undefined;
            const steps = [first, second];
            const windowMs = 5 * 24 * 60 * minuteMs;
            const split = { by: "tag", key: "plan" } as const;
            counted = {
              of: "funnel",
              funnel: { projectId, range: whole, steps, windowMs, ...(value !== undefined && { split }) },
              ...{ step, isLast, value, took },
            };
            expected = byUser.flatMap((taken) => {
              const masks = Uint8Array.from(taken, (event) =>
                steps.reduce((mask, each, index) => mask | (matches(each, event) ? 1 << index : 0), 0),
              );
              const order = Uint32Array.from(taken.keys());
              const attempt = new FunnelSteps(2, windowMs).furthest(
                Float64Array.from(taken, msOf),
                masks,
                order,
                0,
                taken.length,
              );
              const at = (index: number) =>
                taken.filter((event, own) => msOf(event) === attempt[index] && masks[own]! & (1 << index));
              const plans = at(0).flatMap(({ tags }) => (Object.hasOwn(tags, "plan") ? tags.plan! : []));
              if (attempt.length < step || (isLast && attempt.length > step)) return [];
              const tookMs = attempt[step - 1]! - (attempt[step - 2] ?? 0);
              if (took && (tookMs < took.fromMs || tookMs >= took.toMs)) return [];
              if (value !== undefined && plans.toSorted()[0] !== value) return [];
              return at(step - 1)[0]!;
            });
          }
          const found = await pagesOf(counted, limit);
          expect(found).toEqual({ users: listOf(expected), totals: [expected.length] });
        },
      ),
      { numRuns: effort(25, 400), seed },
    );
  }

  async function compare(): Promise<void> {
    await list();
    const seed = Math.floor(Math.random() * 2 ** 31);
    await compareMeasure(seed);
    await compareFunnel(seed);
    await compareRetention(seed);
    await compareUsers(seed);
  }

  test("answers from rows equal plain ones", async () => {
    await append(900, 1);
    await compare();
  });

  test("answers from columns equal plain ones", async () => {
    await store.events.indexBlocks(rest, settledMs);
    await compare();
  });

  test("answers equal plain ones after late events and removals", async () => {
    await append(30, 2);
    // Far from the others, so that these blocks stay unchanged.
    await append(200, 3, { minute: minutes });
    await store.events.remove({ projectId: projects[0], userIds: ["u7"] }, 1_000);
    await compare();
    await store.events.purge(rest);
    await store.events.indexBlocks(rest, settledMs);
    await compare();
  });

  test("the columns of an erased user's events are built again without them", async () => {
    if (engine !== "sqlite") return;
    const [user] = events.map(({ userId }) => userId).filter((id) => id.startsWith("u"));
    const removed = await store.events.remove({ projectId: projects[0], userIds: [user!] }, 1_000);
    expect(removed.ids).not.toBeEmpty();
    await store.events.purge(rest);
    using database = new Database(databaseFile(storage.dataDirectory), { readonly: true });
    const changed = database
      .query<{ columns: number }, []>(
        "SELECT count(*) AS columns FROM blocks JOIN block_columns USING (from_ms) WHERE changed > 0",
      )
      .get()!;
    expect(changed.columns).toBe(0);
    await store.events.indexBlocks(rest, settledMs);
    const without = database
      .query<{ blocks: number }, []>(
        "SELECT count(*) AS blocks FROM blocks WHERE from_ms NOT IN (SELECT from_ms FROM block_columns)",
      )
      .get()!;
    expect(without.blocks).toBe(0);
  });

  test("an analysis ends when it is aborted, and reports how much it read", async () => {
    const query = {
      projectId: projects[0],
      bounds: [startMs, settledMs],
      start: {},
      return: {},
      historyFromMs: null,
    };
    const controller = new AbortController();
    const running = store.events.retention(query, { signal: controller.signal });
    controller.abort(new Error("gone"));
    await expect(running).rejects.toThrow("gone");
    await expect(store.events.retention(query, { signal: controller.signal })).rejects.toThrow("gone");
    const shares: number[] = [];
    await store.events.retention(query, { onProgress: (share) => shares.push(share) });
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares.every((share) => share >= 0 && share <= 1)).toBe(true);
  });
});
