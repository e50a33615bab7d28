// @engines sqlite, postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createProject } from "../projects/projects.ts";
import type { Store } from "../storage/store.ts";
import {
  makeStorage,
  openEngineStore,
  removeStorage,
  storeEngines,
  type TestStorage,
} from "../testing/engine.ts";
import { mergeProperties } from "../users/merge-properties.ts";
import { joinAll } from "./join-ids.ts";

const [rounds, visitors, changesOfVisitor] = [8, 5, 4];
const atSomeTime = () => Bun.sleep(Math.random() * 40);

describe.each([...storeEngines])("people who change at the same time on %s", (engine) => {
  let storage: TestStorage;
  let store: Store;

  beforeAll(async () => {
    storage = await makeStorage(engine);
    store = await openEngineStore(storage);
  });
  afterAll(async () => {
    await store.close();
    await removeStorage(storage);
  });

  test("properties that are set while IDs are joined are those of the person, and none is lost", async () => {
    for (let round = 0; round < rounds; round++) {
      const { id: projectId } = await createProject(store.control, "People", null);
      const anonymous = Array.from({ length: visitors }, (_, n) => `visitor ${n}`);
      const expected: Record<string, number> = {};
      const set = async (userId: string, name: string) => {
        expected[name] = 1;
        await atSomeTime();
        await mergeProperties(store, projectId, [{ userId, set: { [name]: 1 } }]);
      };
      await Promise.all([
        ...anonymous.flatMap((userId, n) =>
          Array.from({ length: changesOfVisitor }, (_, change) => set(userId, `p${n}-${change}`)),
        ),
        ...anonymous.map(async (id) => {
          await atSomeTime();
          const joining = { id, userId: "ada", by: "identify", name: null, identifies: true } as const;
          expect(await joinAll(store, projectId, [joining])).toEqual([true]);
        }),
        ...Array.from({ length: visitors * changesOfVisitor }, (_, change) => set("ada", `own-${change}`)),
      ]);
      const rows = await store.control
        .selectFrom("users")
        .select(["userId", "properties"])
        .where("projectId", "=", projectId)
        .execute();
      expect(rows.map(({ userId }) => userId)).toEqual(["ada"]);
      expect(JSON.parse(rows[0]!.properties)).toEqual(expected);
    }
  });
});
