import type { UserProperties } from "../schemas/user-rule.ts";
import { applyChanges } from "../users/user-change.ts";

/** A join of an ID, and of all that were joined to it before, to the person of another one. */
export type Join = {
  userId: string;
  joinedTo: string;
  joinedAt: number;
  /** The properties that `userId` had until then. */
  properties: UserProperties;
  /** The names of those that the person got from it. */
  filled: string[];
};

export type Replayed = {
  /** The other joins, as they would have been made. */
  joins: Join[];
  /** The properties of each ID that is not joined to another one. */
  profiles: Map<string, UserProperties>;
};

/** The properties that an ID has from nobody else, and the names that were removed after it got them. */
type Own = { properties: UserProperties; removed: ReadonlySet<string> };

/**
 * The joins of a person without one of them, with the properties that each ID then has: as if the others had been made
 * without it. What was set, changed or removed since stays as it is.
 *
 * @param person - the main ID
 * @param properties - of the person, with all that it got from other IDs
 */
export function replayWithout(
  userId: string,
  person: string,
  properties: UserProperties,
  joins: readonly Join[],
): Replayed {
  const ordered = joins.toSorted((a, b) => a.joinedAt - b.joinedAt);
  const own = ownOf(person, properties, ordered);
  const profiles = new Map([...own].map(([id, each]) => [id, each.properties]));
  const mainOf = mainIds();
  const replayed: Join[] = [];
  for (const join of ordered) {
    if (join.userId === userId) continue;
    const main = mainOf.joined(join);
    const before = profiles.get(main)!;
    const removed = own.get(main)!.removed;
    const joining = profiles.get(join.userId)!;
    const setOnce = Object.fromEntries(Object.entries(joining).filter(([name]) => !removed.has(name)));
    const merged = applyChanges(before, [{ userId: main, setOnce }]);
    const filled = Object.keys(merged).filter((name) => !Object.hasOwn(before, name));
    replayed.push({ ...join, properties: joining, filled });
    profiles.set(main, merged);
    profiles.delete(join.userId);
  }
  return { joins: replayed, profiles };
}

/** Takes away what each ID got from others. */
function ownOf(person: string, properties: UserProperties, ordered: readonly Join[]): Map<string, Own> {
  const mainOf = mainIds();
  const byMain = Map.groupBy(ordered, (join) => mainOf.joined(join));
  const own = (id: string, all: UserProperties): [string, Own] => {
    const rest = new Map(Object.entries(all));
    const removed = new Set<string>();
    for (const join of byMain.get(id) ?? []) {
      for (const name of join.filled) {
        if (!Object.hasOwn(all, name)) removed.add(name);
        else if (all[name] === join.properties[name]) rest.delete(name);
      }
    }
    return [id, { properties: Object.fromEntries(rest), removed }];
  };
  return new Map([own(person, properties), ...ordered.map((join) => own(join.userId, join.properties))]);
}

/** Follows joins in their order: who an ID belongs to changes with each. */
function mainIds() {
  const joinedTo = new Map<string, string>();
  return {
    /** Joins an ID. Returns the main ID of the person to whom it was joined. */
    joined(join: Join): string {
      let main = join.joinedTo;
      for (let next = joinedTo.get(main); next !== undefined; next = joinedTo.get(main)) main = next;
      joinedTo.set(join.userId, main);
      return main;
    },
  };
}
