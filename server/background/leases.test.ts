// @engines sqlite, postgres
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "kysely";
import type { Store } from "../storage/store.ts";
import { stores } from "../testing/engine.ts";
import { until } from "../testing/until.ts";
import { Leases } from "./leases.ts";

for (const engine of stores) {
  describe(`a lease on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    let errors: unknown[];
    const onError = (error: unknown) => errors.push(error);
    beforeEach(async () => {
      errors = [];
      storage = await engine.create();
      store = await storage.open();
    });
    afterEach(async () => {
      await store.close();
      await storage.remove();
    });

    test("is held by one node at a time, and released when the work is done", async () => {
      const nodes = Array.from({ length: 10 }, () => new Leases(store.control, onError));
      let [working, worked, refused] = [0, 0, 0];
      const outcomes = await Promise.all(
        nodes.map(async (leases) => {
          const isDone = await leases.whileHeld("work", async (isHeld) => {
            expect([++working, isHeld()]).toEqual([1, true]);
            await until(() => refused === nodes.length - 1);
            working--;
            worked++;
          });
          if (!isDone) refused++;
          return isDone;
        }),
      );
      expect([worked, outcomes.filter((isDone) => isDone).length]).toEqual([1, 1]);
      expect(await nodes[1]!.whileHeld("work", async () => {})).toBe(true);
      expect(await store.control.selectFrom("leases").selectAll().execute()).toEqual([]);
    });

    test("of one name doesn't block others", async () => {
      const [one, other] = [new Leases(store.control, onError), new Leases(store.control, onError)];
      const both = one.whileHeld("a", async () => {
        expect(await other.whileHeld("b", async () => {})).toBe(true);
        expect(await other.whileHeld("a", async () => {})).toBe(false);
      });
      expect(await both).toBe(true);
    });

    test("of a dead node can be taken when it expires, not before", async () => {
      const leaveBehind = (until: number) =>
        store.control
          .insertInto("leases")
          .values({ name: "work", holder: "a dead node", until })
          .onConflict((conflict) => conflict.column("name").doUpdateSet({ until }))
          .execute();
      const leases = new Leases(store.control, onError);
      await leaveBehind(Date.now() + 1_000);
      expect(await leases.whileHeld("work", async () => {})).toBe(false);
      await leaveBehind(Date.now());
      expect(await leases.whileHeld("work", async () => {})).toBe(true);
      // The dead node's clock was ahead.
      await leaveBehind(Date.now() + 86_400_000);
      expect(await leases.whileHeld("work", async () => {})).toBe(true);
    });

    test("is renewed during long work, and its loss is noticed", async () => {
      const [leases, other] = [new Leases(store.control, onError, 600), new Leases(store.control, onError)];
      await leases.whileHeld("work", async (isHeld) => {
        await Bun.sleep(1_500);
        expect(isHeld()).toBe(true);
        expect(await other.whileHeld("work", async () => {})).toBe(false);
        await store.control.updateTable("leases").set({ holder: "another" }).execute();
        while (isHeld()) await Bun.sleep(50);
      });
      // The lease of another holder is not released.
      expect(await store.control.selectFrom("leases").select("holder").execute()).toEqual([
        { holder: "another" },
      ]);
    });

    test("is lost if it can't be renewed in time, with an error", async () => {
      const rename = (from: string, to: string) =>
        sql`ALTER TABLE ${sql.table(from)} RENAME TO ${sql.table(to)}`.execute(store.control);
      await new Leases(store.control, onError, 600).whileHeld("work", async (isHeld) => {
        await rename("leases", "leases_away");
        expect(isHeld()).toBe(true);
        await until(() => !isHeld());
        await rename("leases_away", "leases");
      });
      expect(errors.length).toBeGreaterThan(0);
      expect(await new Leases(store.control, onError).whileHeld("work", async () => {})).toBe(true);
    });

    test("is released if the work fails", async () => {
      const leases = new Leases(store.control, onError);
      const failing = leases.whileHeld("work", async () => {
        throw new Error("on purpose");
      });
      expect(await failing.catch((error) => error.message)).toBe("on purpose");
      expect(await new Leases(store.control, onError).whileHeld("work", async () => {})).toBe(true);
    });
  });
}
