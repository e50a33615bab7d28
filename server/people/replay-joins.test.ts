import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { UserProperties } from "../schemas/user-rule.ts";
import { effort } from "../testing/engine.ts";
import { applyChanges } from "../users/user-change.ts";
import { type Join, replayWithout } from "./replay-joins.ts";

const ids = ["a", "b", "c", "d", "e"];
const id = fc.constantFrom(...ids);
const name = fc.constantFrom("plan", "city", "team");
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("set" as const), id, name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("join" as const), id, to: id }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("split" as const), id }) },
);

/** People as they are stored: the joins of all, and the profiles of main IDs. */
class StoredPeople {
  joins: Join[] = [];
  profiles = new Map<string, UserProperties>(ids.map((each) => [each, {}]));

  mainOf(of: string): string {
    const join = this.joins.find(({ userId }) => userId === of);
    return join ? this.mainOf(join.joinedTo) : of;
  }

  set(of: string, set: UserProperties): void {
    const main = this.mainOf(of);
    this.profiles.set(main, applyChanges(this.profiles.get(main)!, [{ userId: main, set }]));
  }

  join(of: string, joinedTo: string, joinedAt: number): { userId: string; joinedTo: string } | null {
    const [userId, main] = [this.mainOf(of), this.mainOf(joinedTo)];
    if (userId === main) return null;
    const [properties, before] = [this.profiles.get(userId)!, this.profiles.get(main)!];
    const merged = applyChanges(before, [{ userId: main, setOnce: properties }]);
    const filled = Object.keys(merged).filter((each) => !(each in before));
    this.joins.push({ userId, joinedTo, joinedAt, properties, filled });
    this.profiles.set(main, merged);
    this.profiles.delete(userId);
    return { userId, joinedTo };
  }

  split(userId: string): boolean {
    if (!this.joins.some((join) => join.userId === userId)) return false;
    const main = this.mainOf(userId);
    const [ofPerson, others] = [this.joins.filter((join) => this.mainOf(join.userId) === main), this.joins];
    const replayed = replayWithout(userId, main, this.profiles.get(main)!, ofPerson);
    this.joins = [...others.filter((join) => !ofPerson.includes(join)), ...replayed.joins].toSorted(
      (a, b) => a.joinedAt - b.joinedAt,
    );
    for (const [each, properties] of replayed.profiles) this.profiles.set(each, properties);
    return true;
  }
}

/** The profiles of main IDs, by making the remaining joins one after the other. */
function plainProfiles(own: Map<string, UserProperties>, joins: { userId: string; joinedTo: string }[]) {
  const profiles = new Map(own);
  const joinedTo = new Map<string, string>();
  for (const join of joins) {
    let main = join.joinedTo;
    while (joinedTo.has(main)) main = joinedTo.get(main)!;
    profiles.set(main, { ...profiles.get(join.userId), ...profiles.get(main) });
    profiles.delete(join.userId);
    joinedTo.set(join.userId, main);
  }
  return profiles;
}

describe("splitting an ID off", () => {
  test("leaves the properties that all would have without its join", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 4, maxLength: 30 }), (steps) => {
        const stored = new StoredPeople();
        const own = new Map<string, UserProperties>(ids.map((each) => [each, {}]));
        let joins: { userId: string; joinedTo: string }[] = [];
        for (const [at, each] of steps.entries()) {
          if (each.do === "set") {
            const main = stored.mainOf(each.id);
            own.set(main, { ...own.get(main), [each.name]: at });
            stored.set(each.id, { [each.name]: at });
          } else if (each.do === "join") {
            const joined = stored.join(each.id, each.to, at);
            if (joined) joins.push(joined);
          } else if (stored.split(each.id)) joins = joins.filter(({ userId }) => userId !== each.id);
          expect(stored.profiles).toEqual(plainProfiles(own, joins));
        }
      }),
      { numRuns: effort(500, 20_000) },
    );
  });

  test("does not bring back what was removed since", () => {
    const stored = new StoredPeople();
    stored.set("b", { plan: "pro" });
    stored.join("b", "a", 1);
    stored.join("c", "a", 2);
    stored.set("a", { plan: null });
    stored.split("c");
    expect(stored.profiles.get("a")).toEqual({});
    stored.split("b");
    expect(stored.profiles.get("b")).toEqual({ plan: "pro" });
  });
});
