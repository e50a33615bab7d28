import type { Kysely } from "kysely";
import type { EventFilter } from "../event/filter.ts";
import type { CountedUsers } from "./analysis/queries.ts";
import type { ControlTables } from "./control-tables.ts";
import type { EventAnalyzer, EventCounter, EventReader } from "./event-store.ts";
import { withPeople } from "./people.ts";

/** Keys of tags that begin like a type of groups. With so many, the type may be among further ones. */
const similarKeys = 100;

type Reads = Pick<EventReader, "page" | "stream" | "startingWith"> &
  Pick<EventCounter, "count"> &
  EventAnalyzer;

/**
 * Makes reads find the events of all IDs of the people whom their filters name, and of the members of cohorts and groups.
 * No caller has to take care of that, and engines only see IDs.
 *
 * Invariant: a filter for one ID of a person finds the events of all their IDs. Checked by
 * `server/people/people.test.ts`.
 */
export function readsOfPeople<All extends Reads>(reads: All, control: Kysely<ControlTables>): All {
  /** Whether some event may have a tag. Keys with other characters can be in the vocabulary in another form. */
  async function hasTag(projectId: number, key: string): Promise<boolean> {
    if (!/^[a-z0-9]+$/.test(key)) return true;
    const keys = await reads.startingWith(projectId, { kind: "key" }, key, similarKeys);
    return keys.length === similarKeys || keys.includes(key);
  }
  const expand = (projectId: number, filter: EventFilter) =>
    withPeople(control, projectId, filter, { hasTag: (key) => hasTag(projectId, key) });

  async function withFilter<Query extends { projectId: number; filter: EventFilter }>(query: Query) {
    return { ...query, filter: await expand(query.projectId, query.filter) };
  }
  async function withSteps<Query extends { projectId: number; steps: EventFilter[] }>(query: Query) {
    return { ...query, steps: await Promise.all(query.steps.map((step) => expand(query.projectId, step))) };
  }
  async function withEnds<Query extends { projectId: number; start: EventFilter; return: EventFilter }>(
    query: Query,
  ) {
    const [start, back] = await Promise.all([
      expand(query.projectId, query.start),
      expand(query.projectId, query.return),
    ]);
    return { ...query, start, return: back };
  }
  async function withAnchor<Query extends { projectId: number; anchor: EventFilter; steps: EventFilter }>(
    query: Query,
  ) {
    const [anchor, steps] = await Promise.all([
      expand(query.projectId, query.anchor),
      expand(query.projectId, query.steps),
    ]);
    return { ...query, anchor, steps };
  }
  async function withCounted(projectId: number, counted: CountedUsers): Promise<CountedUsers> {
    switch (counted.of) {
      case "events":
        return { ...counted, filter: await expand(projectId, counted.filter) };
      case "funnel":
        return { ...counted, funnel: await withSteps(counted.funnel) };
      case "cohort":
        return { ...counted, retention: await withEnds(counted.retention) };
      case "paths":
        return { ...counted, paths: await withAnchor(counted.paths) };
      case "activity":
        return { ...counted, activity: await withFilter(counted.activity) };
    }
  }

  return {
    ...reads,
    page: async (query, limit, signal) => reads.page(await withFilter(query), limit, signal),
    async *stream(query) {
      yield* reads.stream(await withFilter(query));
    },
    count: async (query, signal) => reads.count(await withFilter(query), signal),
    measure: async (query, watch) => reads.measure(await withFilter(query), watch),
    funnel: async (query, watch) => reads.funnel(await withSteps(query), watch),
    retention: async (query, watch) => reads.retention(await withEnds(query), watch),
    paths: async (query, watch) => reads.paths(await withAnchor(query), watch),
    activity: async (query, watch) => reads.activity(await withFilter(query), watch),
    sessions: async (query, watch) => {
      const [counted, activity] = await Promise.all([
        expand(query.projectId, query.counted),
        expand(query.projectId, query.activity),
      ]);
      return reads.sessions({ ...query, counted, activity }, watch);
    },
    usersWith: async (query, watch) => reads.usersWith(await withFilter(query), watch),
    countedUsers: async (query, watch) =>
      reads.countedUsers({ ...query, counted: await withCounted(query.projectId, query.counted) }, watch),
  };
}
