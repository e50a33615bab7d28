// @engines sqlite, postgres, clickhouse
// @long
/** Analyses by groups: splits, and funnels, retention and activity that count groups in place of users. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Event } from "../event/event.ts";
import { listCountedUsers } from "../stats/counted-users.ts";
import type { CountedUsers, Measured, Metric } from "../storage/analysis/queries.ts";
import type { Store } from "../storage/store.ts";
import { effort, storeEngines } from "../testing/engine.ts";
import {
  GroupHistory,
  type HistoryStore,
  hourMs,
  hours,
  openHistoryStore,
  plans,
  step,
} from "../testing/group-history.ts";

const windowMs = 5 * 24 * hourMs;
const [start, back] = [{ name: "open" }, { name: "pay" }];

describe.each([...storeEngines])("analyses by groups on %s", (engine) => {
  let opened: HistoryStore;
  let events: Store["events"];
  beforeAll(async () => {
    opened = await openHistoryStore(engine);
    events = opened.store.events;
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  test("are as in a plain computation, whatever happens to people and groups", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const history = await GroupHistory.begin(opened);
        await history.takeAll(steps);
        await compareSplits(history);
        for (const series of [1, 2]) await compareFunnels(history, series);
        await compareRepeated(history);
        await compareRetention(history);
        await compareActivity(history);
        await compareLists(history);
      }),
      { numRuns: effort(15, 150), interruptAfterTimeLimit: effort(40_000, 400_000) },
    );
  });

  async function compareSplits(history: GroupHistory): Promise<void> {
    const { projectId, startMs, endMs } = history;
    const bounds = [startMs, startMs + (hours / 3) * hourMs, endMs];
    const splits = [
      { key: undefined, valuesOf: (event: Event) => groupsOf(history, event) },
      { key: "plan", valuesOf: (event: Event) => plansOf(history, event) },
    ];
    for (const { key, valuesOf } of splits)
      for (const metric of ["events", "users", "sum"] as const)
        for (const series of [1, 2, 10]) {
          const query = {
            ...{ projectId, filter: {}, bounds, metric, series },
            ...(metric === "sum" && { tag: "amount" }),
            split: { by: "group" as const, type: "company", key },
          };
          expect([query, await events.measure(query, {})]).toEqual([
            query,
            expect.objectContaining(plainSplit(history, bounds, { metric, series, valuesOf })),
          ]);
        }
    const perCompany = {
      projectId,
      filter: {},
      bounds,
      metric: "users" as const,
      series: 10,
      per: "company",
    };
    const { all } = await events.measure(perCompany, {});
    expect(all).toEqual(measured(history.events, bounds, "users", (event) => groupsOf(history, event)));
    const byPlan = { by: "group", type: "company", key: "plan" } as const;
    const ownPlans = await events.measure({ ...perCompany, split: byPlan }, {});
    for (const { value, ...series } of ownPlans.series) {
      const ofPlan = (event: Event) => groupsOf(history, event).filter((id) => planOf(history, id) === value);
      const own = history.events.filter((event) => ofPlan(event).length > 0);
      expect([value, series]).toEqual([value, measured(own, bounds, "users", ofPlan)]);
    }
  }

  async function compareFunnels(history: GroupHistory, series: number): Promise<void> {
    const { projectId, startMs, endMs } = history;
    const query = {
      projectId,
      range: { fromMs: startMs, toMs: endMs },
      steps: [start, back],
      windowMs,
      series,
    };
    const perCompany = await events.funnel({ ...query, per: "company" }, {});
    const companies = [...byGroup(history).values()].map(attemptOf).filter((attempt) => attempt !== null);
    expect(usersIn(perCompany.steps)).toEqual(countsOf(companies));

    const split = { by: "group", type: "company" } as const;
    const byCompany = await events.funnel({ ...query, split }, {});
    const attempts = [...byPerson(history).values()].flatMap((own) => {
      const attempt = attemptOf(own);
      if (attempt === null) return [];
      const first = own.filter((event) => event.name === "open" && msOf(event) === attempt[0]);
      const values = new Set(first.flatMap((event) => groupsOf(history, event)));
      const found: (string | null)[] = values.size === 0 ? [null] : [...values];
      return [{ attempt, values: found }];
    });
    expect(usersIn(byCompany.steps)).toEqual(countsOf(attempts.map(({ attempt }) => attempt)));
    const top = largest(
      attempts.flatMap(({ values }) => values.filter((value) => value !== null)),
      query.series,
    );
    expect(byCompany.series.map(({ value }) => value)).toEqual(top);
    for (const { value, steps } of byCompany.series)
      expect([value, usersIn(steps)]).toEqual([
        value,
        countsOf(attempts.flatMap(({ attempt, values }) => (values.includes(value) ? [attempt] : []))),
      ]);
    const rest = attempts.filter(({ values }) =>
      values.some((value) => value === null || !top.includes(value)),
    );
    expect(byCompany.rest && usersIn(byCompany.rest)).toEqual(
      rest.length === 0 ? null : countsOf(rest.map(({ attempt }) => attempt)),
    );

    const ownValues = await events.funnel({ ...query, per: "company", split, series: 10 }, {});
    expect(ownValues.series.map(({ value, steps }) => [value, usersIn(steps)]).sort()).toEqual(
      [...byGroup(history)]
        .flatMap(([id, own]) => {
          const attempt = attemptOf(own);
          return attempt === null ? [] : [[id, countsOf([attempt])] as [string, number[]]];
        })
        .sort(),
    );
  }

  /** Two steps are two events, also if several IDs of a person are members of the same company. */
  async function compareRepeated(history: GroupHistory): Promise<void> {
    const { projectId, startMs } = history;
    // Of a company, there are few events in some hours.
    for (let fromMs = startMs; fromMs < startMs + hours * hourMs; fromMs += 40 * hourMs) {
      const range = { fromMs, toMs: fromMs + 8 * hourMs };
      const query = { projectId, range, steps: [{}, {}], windowMs, series: 0, per: "company" };
      const twice = await events.funnel(query, {});
      const counts = [...byGroup(history).values()].map(
        (own) => own.filter((event) => msOf(event) >= range.fromMs && msOf(event) < range.toMs).length,
      );
      expect(usersIn(twice.steps)).toEqual(
        [1, 2].map((least) => counts.filter((count) => count >= least).length),
      );
    }
  }

  async function compareRetention(history: GroupHistory): Promise<void> {
    const { projectId, startMs, endMs } = history;
    const bounds = [0.25, 0.5, 0.75, 1].map((share) => startMs + share * (endMs - startMs));
    const periodOf = (event: Event) => bounds.findLastIndex((ms) => ms <= msOf(event));
    for (const historyFromMs of [null, startMs]) {
      const query = { projectId, per: "company", bounds, start, return: back, historyFromMs };
      const expected = [3, 2, 1].map((periods) => ({
        users: 0,
        returned: new Array<number>(periods).fill(0),
      }));
      for (const own of byGroup(history).values()) {
        const starts = own.filter(({ name }) => name === "open");
        const first = starts.find((event) => periodOf(event) >= 0);
        if (first === undefined || (historyFromMs !== null && periodOf(starts[0]!) < 0)) continue;
        const cohort = expected[periodOf(first)]!;
        cohort.users++;
        const returns = own.filter((event) => event.name === "pay" && msOf(event) >= msOf(first));
        for (const period of new Set(returns.map(periodOf))) cohort.returned[period - periodOf(first)]!++;
      }
      expect(await events.retention(query, {})).toEqual(expected);
    }
  }

  async function compareActivity(history: GroupHistory): Promise<void> {
    const { projectId, startMs, endMs } = history;
    const bounds = [0.25, 0.5, 0.75, 1].map((share) => startMs + share * (endMs - startMs));
    const periodOf = (event: Event) => bounds.findLastIndex((ms) => ms <= msOf(event));
    const query = { projectId, per: "company", filter: {}, bounds, historyFromMs: startMs };
    const all = [...byGroup(history).values()].map((own) => own.map(periodOf));
    const active = all.map((periods) => [...new Set(periods)].filter((period) => period >= 0));
    const isEarlier = all.map((periods) => periods[0]! < 0);
    const found = await events.activity(query, {});
    expect(found.users).toBe(active.filter(({ length }) => length > 0).length);
    expect(found.periods).toEqual(
      [0, 1, 2].map((period) => ({
        active: active.filter((periods) => periods.includes(period)).length,
        new: active.filter((periods, index) => periods[0] === period && !isEarlier[index]).length,
      })),
    );
    expect(found.byCount).toEqual(
      [1, 2, 3].map((count) => active.filter(({ length }) => length === count).length),
    );
  }

  async function compareLists(history: GroupHistory): Promise<void> {
    const { projectId, startMs, endMs } = history;
    const range = { fromMs: startMs, toMs: endMs };
    const list = async (counted: CountedUsers) => {
      const page = await listCountedUsers(opened.store, {
        projectId,
        counted,
        limit: 100,
        cursor: undefined,
      });
      expect(page.users).toEqual([]);
      expect(page.total).toBe(page.groups!.length);
      return page
        .groups!.map(({ id, event, people, createdAt, properties }) => {
          const group = { type: "company", id };
          expect(people).toBe(history.groups.peopleIn(group).length);
          expect(createdAt !== null).toBe(history.groups.has(group));
          expect(properties.plan).toBe(planOf(history, id) as string);
          expect(groupsOf(history, event)).toContain(id);
          return [id, msOf(event)] as const;
        })
        .sort(([a], [b]) => (a < b ? -1 : 1));
    };
    const groups = [...byGroup(history)].sort(([a], [b]) => (a < b ? -1 : 1));
    expect(await list({ of: "events", per: "company", filter: back, range })).toEqual(
      groups.flatMap(([id, own]) => {
        const last = own.findLast(({ name }) => name === "pay");
        return last ? [[id, msOf(last)] as const] : [];
      }),
    );
    const funnel = { projectId, range, steps: [start, back], windowMs, per: "company" };
    const attempts = groups.map(([id, own]) => ({ id, attempt: attemptOf(own) }));
    for (const counted of [1, 2])
      expect(await list({ of: "funnel", funnel, step: counted, isLast: false })).toEqual(
        attempts.flatMap(({ id, attempt }) =>
          attempt !== null && attempt.length >= counted ? [[id, attempt[counted - 1]!] as const] : [],
        ),
      );
  }
});

/** The companies of an event. */
function groupsOf({ groups }: GroupHistory, event: Event): string[] {
  return groups.groupsOfEvent("company", event);
}

function planOf({ groups }: GroupHistory, id: string): string | undefined {
  return groups.has({ type: "company", id }) ? plans[id] : undefined;
}

function plansOf(history: GroupHistory, event: Event): string[] {
  return [...new Set(groupsOf(history, event).flatMap((id) => planOf(history, id) ?? []))];
}

/** The events of each company, oldest first. */
function byGroup(history: GroupHistory): Map<string, Event[]> {
  const found = new Map<string, Event[]>();
  for (const event of inOrder(history.events))
    for (const id of groupsOf(history, event)) found.set(id, [...(found.get(id) ?? []), event]);
  return found;
}

function byPerson({ events, groups }: GroupHistory): Map<string, Event[]> {
  const known = inOrder(events).filter(({ userId }) => userId !== "");
  return Map.groupBy(known, ({ userId }) => groups.personOf(userId));
}

function inOrder(events: readonly Event[]): Event[] {
  return events.toSorted((a, b) => msOf(a) - msOf(b));
}

/** The times of the steps that some events take: those of the first attempt that gets furthest, begun as late as can be. */
function attemptOf(own: readonly Event[]): number[] | null {
  const times = (name: string) => own.filter((event) => event.name === name).map(msOf);
  const [opens, pays] = [times("open"), times("pay")];
  if (opens.length === 0) return null;
  for (const pay of pays) {
    const began = opens.findLast((open) => open <= pay && pay - open <= windowMs);
    if (began !== undefined) return [began, pay];
  }
  return [opens[0]!];
}

function countsOf(attempts: readonly (readonly number[])[]): number[] {
  return [attempts.length, attempts.filter(({ length }) => length === 2).length];
}

function usersIn(steps: readonly { users: number }[]): number[] {
  return steps.map(({ users }) => users);
}

/** The most frequent texts. */
function largest(texts: readonly string[], count: number): string[] {
  const found = [...Map.groupBy(texts, (text) => text)].map(([text, { length }]) => ({ text, length }));
  return found
    .sort((a, b) => b.length - a.length || (a.text < b.text ? -1 : 1))
    .slice(0, count)
    .map(({ text }) => text);
}

type Plain = { metric: Metric; series: number; valuesOf: (event: Event) => readonly string[] };

function plainSplit(history: GroupHistory, bounds: readonly number[], { metric, series, valuesOf }: Plain) {
  const counted = (ofValues: (values: readonly string[]) => boolean) =>
    measured(
      history.events.filter((event) => ofValues(valuesOf(event))),
      bounds,
      metric,
      ({ userId }) => (userId === "" ? [] : [history.groups.personOf(userId)]),
    );
  const isMeasured = (event: Event) => metric !== "sum" || event.tags.amount !== "none";
  const values = [...new Set(history.events.filter(isMeasured).flatMap(valuesOf))];
  const all = values
    .map((value) => ({ value, ...counted((some) => some.includes(value)) }))
    .sort((a, b) => b.overall! - a.overall! || (a.value < b.value ? -1 : 1));
  const shown = all.slice(0, series);
  const isShown = (value: string) => shown.some((each) => each.value === value);
  const isRest = (some: readonly string[]) => some.length === 0 || !some.every(isShown);
  const rest = counted(isRest);
  const others = all.length - shown.length;
  const hasNone = history.events.some((event) => isMeasured(event) && valuesOf(event).length === 0);
  const only = others === 1 && !hasNone ? all.at(-1)!.value : null;
  return {
    all: counted(() => true),
    series: shown,
    rest: rest.counts.every((count) => count === 0) ? null : { value: only, ...rest },
    ignored: metric === "sum" ? history.events.filter((event) => !isMeasured(event)).length : 0,
  };
}

/** @param countedOf - who is counted for an event by the metric `users` */
function measured(
  events: readonly Event[],
  bounds: readonly number[],
  metric: Metric,
  countedOf: (event: Event) => readonly string[],
): Measured {
  const isMeasured = (event: Event) => metric !== "sum" || event.tags.amount !== "none";
  const of = (fromMs: number, toMs: number) =>
    events.filter((event) => isMeasured(event) && msOf(event) >= fromMs && msOf(event) < toMs);
  const value = (some: readonly Event[]) => {
    if (metric === "events") return some.length;
    if (metric === "users") return new Set(some.flatMap(countedOf)).size;
    // In tenths, so that sums are exact.
    return some.reduce((sum, { tags }) => sum + Math.round(Number(tags.amount) * 10), 0) / 10;
  };
  const buckets = bounds.slice(1).map((toMs, index) => of(bounds[index]!, toMs));
  return {
    counts: buckets.map(({ length }) => length),
    values: buckets.map(value),
    overall: value(of(bounds[0]!, bounds.at(-1)!)),
  };
}

function msOf({ createdAt }: Event): number {
  return Date.parse(createdAt);
}
