// @engines sqlite, postgres, clickhouse
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { parseSearch, type Search } from "../event/search.ts";
import { hasUser } from "../event/user-set.ts";
import { createProject } from "../projects/projects.ts";
import { openTestStore, testConfig } from "../testing/test-app.ts";
import { changingRevision, rememberMembers } from "./cohort-members.ts";
import { searchWithMembers } from "./cohorts.ts";
import type { Store } from "./store.ts";

let store: Store;
let projectId: number;
beforeAll(async () => {
  store = await openTestStore(await testConfig());
  ({ id: projectId } = await createProject(store.control, "Cohorts", null));
});
afterAll(() => store.close());

async function addCohort(name: string, revision: string, ids: number | null): Promise<void> {
  const about = { id: name, projectId, name, condition: "{}", createdAt: 0, updatedAt: 0 };
  await store.control
    .insertInto("cohorts")
    .values({
      ...{ ...about, people: ids, ids, computedAt: ids === null ? null : 0, revision },
      ...{ tookMs: null, failure: null, deletedAt: null, dueAt: 0 },
    })
    .execute();
}

const expanded = (q: string, options = {}) =>
  searchWithMembers(store.control, projectId, parseSearch(q)!, options);

test("the members that were used last stay in memory, as far as there is room", async () => {
  const revision = crypto.randomUUID();
  await addCohort("kept", revision, 500);
  await rememberMembers(projectId, revision, [...Array.from({ length: 499 }, (_, n) => `other ${n}`), "ann"]);
  const isFound = async () => {
    const search = await expanded("cohort:kept");
    return search.kind === "members" && hasUser(search.set, "ann");
  };
  // The table has no members, so this one is known from memory alone.
  expect(await isFound()).toBe(true);
  const users = 500_000;
  const bytesOfEach = 2 ** Math.ceil(Math.log2(2 * users)) * 3 * 4;
  const many = Array.from({ length: users }, () => "somebody");
  for (let bytes = 0; bytes <= limits.cohortBytes; bytes += bytesOfEach)
    await rememberMembers(projectId, crypto.randomUUID(), many);
  expect(await isFound()).toBe(false);
});

test("a search for a cohort without people, or without members yet, finds nobody", async () => {
  await addCohort("empty", crypto.randomUUID(), 0);
  await addCohort("new", crypto.randomUUID(), null);
  expect(await expanded("-cohort:empty")).toEqual({ kind: "not", of: { kind: "cohort", names: [] } });
  await expect(expanded("cohort:new")).rejects.toMatchObject({ code: "cohort-not-ready" });
  await expect(expanded("cohort:gone")).rejects.toMatchObject({ code: "query-invalid" });
  // What was saved goes on.
  expect(await expanded("cohort:gone,new", { isSaved: true })).toEqual({ kind: "cohort", names: [] });
});

async function addMembers(cohortId: string, count: number): Promise<void> {
  const columns = ["cohortId", "userId", "personId"] as const;
  const rows = Array.from({ length: count }, (_, n) => ({
    cohortId,
    userId: `user-${n}`,
    personId: `user-${n}`,
  }));
  for (let at = 0; at < count; at += 10_000)
    await store.together("control", async (transaction) => {
      await transaction
        .insertInto("cohortMembers")
        .columns([...columns])
        .expression(store.rowsOf("cohortMembers", columns, rows.slice(at, at + 10_000)))
        .execute();
    });
}

/** How often others got a turn during some work. */
async function turnsOfOthers(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await work();
  clearInterval(timer);
  return turns;
}

test("searches share one read of a large cohort, between whose steps others get a turn", async () => {
  const members = 100_000;
  await addCohort("large", crypto.randomUUID(), members);
  await addMembers("large", members);
  const found: Search[] = [];
  const turns = await turnsOfOthers(async () => {
    found.push(...(await Promise.all([1, 2, 3].map(() => expanded("cohort:large")))));
  });
  // It takes some hundred milliseconds, and a turn three. In one piece, nobody would get one.
  expect(turns).toBeGreaterThan(20);
  const sets = found.map((search) => search.kind === "members" && search.set);
  expect(new Set(sets).size).toBe(1);
  expect(sets[0] && hasUser(sets[0], `user-${members - 1}`)).toBe(true);
  const many = Array.from({ length: 200_000 }, (_, n) => `user-${n}`);
  expect(await turnsOfOthers(() => rememberMembers(projectId, crypto.randomUUID(), many))).toBeGreaterThan(
    20,
  );
});

test("members that are being changed are read each time, whatever number was computed before", async () => {
  await addCohort("changing", changingRevision, 1);
  expect(await expanded("cohort:changing")).toEqual({ kind: "cohort", names: [] });
  await addMembers("changing", 300);
  expect(await expanded("cohort:changing")).toMatchObject({ kind: "members" });
});

test("the cohorts of a search have a number of IDs that fits into memory", async () => {
  await addCohort("half", crypto.randomUUID(), limits.searchCohortIds / 2);
  await addCohort("more", crypto.randomUUID(), limits.searchCohortIds / 2 + 1);
  expect(await expanded("cohort:half")).toEqual({ kind: "cohort", names: [] });
  await expect(expanded("cohort:half or -cohort:more")).rejects.toMatchObject({
    code: "query-too-expensive",
  });
});
