// @engines sqlite, postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { parseSearch } from "../event/search.ts";
import { hasUser } from "../event/user-set.ts";
import { createProject } from "../projects/projects.ts";
import { openTestStore, testConfig } from "../testing/test-app.ts";
import { rememberMembers, searchWithMembers } from "./cohorts.ts";
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
  rememberMembers(revision, [...Array.from({ length: 499 }, (_, n) => `other ${n}`), "ann"]);
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
    rememberMembers(crypto.randomUUID(), many);
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
