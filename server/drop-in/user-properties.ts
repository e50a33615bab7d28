import type { Kysely } from "kysely";
import { limits } from "../limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { UserProperties } from "../wire/user.ts";
import { leavesOf } from "./tags.ts";
import { cleanLine, cleanLines, cut, type JsonObject } from "./text.ts";

/** A change to a user's properties. */
export type UserChange = {
  userId: string;
  set?: UserProperties;
  /** Set only where the user has no such property. */
  setOnce?: UserProperties;
};

/** Properties of a user from a client's: flat, with dotted keys, cut to what a property may contain. */
export function propertiesOf(traits: JsonObject, prefix = ""): UserProperties {
  const properties = new Map<string, UserProperties[string]>();
  for (const [path, leaf] of leavesOf(traits, prefix)) {
    const name = cut(cleanLine(path), limits.tagKeyCharacters);
    if (name.trim() === "" || properties.has(name)) continue;
    if (properties.size === limits.userProperties) break;
    properties.set(name, fitting(leaf));
  }
  return Object.fromEntries(properties);
}

function fitting(leaf: UserProperties[string]): UserProperties[string] {
  if (typeof leaf === "string") return cut(cleanLines(leaf), limits.tagValueCharacters);
  // JSON.parse reads 1e999 as Infinity, which JSON can't express.
  return typeof leaf === "number" && !Number.isFinite(leaf) ? String(leaf) : leaf;
}

/** Applies changes in order. A user keeps the properties that it has; of new ones, as many are added as it may have. */
export function applyChanges(current: UserProperties, changes: readonly UserChange[]): UserProperties {
  const merged = new Map(Object.entries(current));
  const add = (name: string, value: UserProperties[string]) => {
    if (merged.has(name) || merged.size < limits.userProperties) merged.set(name, value);
  };
  for (const { set = {}, setOnce = {} } of changes) {
    for (const [name, value] of Object.entries(set)) add(name, value);
    for (const [name, value] of Object.entries(setOnce)) if (!merged.has(name)) add(name, value);
  }
  return Object.fromEntries(merged);
}

/** Merges changes into users' properties. Requests that change the same user at the same time all take effect. */
export async function mergeProperties(
  control: Kysely<ControlTables>,
  projectId: number,
  changes: readonly UserChange[],
): Promise<void> {
  const byUser = Map.groupBy(changes, ({ userId }) => userId);
  // In order of the IDs, so that two requests never wait for each other's users.
  const users = [...byUser].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (let start = 0; start < users.length; start += limits.mergedUsers) {
    await control.transaction().execute(async (transaction) => {
      for (const [userId, ofUser] of users.slice(start, start + limits.mergedUsers)) {
        const updatedAt = Date.now();
        // The update locks the row until the transaction ends, on both engines.
        const { properties } = await transaction
          .insertInto("users")
          .values({ projectId, userId, properties: "{}", updatedAt })
          .onConflict((conflict) => conflict.columns(["projectId", "userId"]).doUpdateSet({ updatedAt }))
          .returning("properties")
          .executeTakeFirstOrThrow();
        const merged = JSON.stringify(applyChanges(JSON.parse(properties) as UserProperties, ofUser));
        if (merged === properties) continue;
        await transaction
          .updateTable("users")
          .set({ properties: merged })
          .where("projectId", "=", projectId)
          .where("userId", "=", userId)
          .execute();
      }
    });
  }
}
