import { limits } from "../core/limits.ts";
import type { UserProperties } from "../schemas/user-rule.ts";

/** A change to a user's properties. */
export type UserChange = {
  userId: string;
  /** Null removes a property. */
  set?: UserProperties;
  /** Set only where the user has no such property. */
  setOnce?: UserProperties;
  /** Whether the caller knows the user: the ID isn't anonymous from then on. */
  identifies?: boolean;
};

/** Applies changes in order. A user keeps the properties that it has; of new ones, as many are added as it may have. */
export function applyChanges(current: UserProperties, changes: readonly UserChange[]): UserProperties {
  const merged = new Map(Object.entries(current));
  const add = (name: string, value: UserProperties[string]) => {
    if (value === null) return;
    if (merged.has(name) || merged.size < limits.userProperties) merged.set(name, value);
  };
  for (const { set = {}, setOnce = {} } of changes) {
    for (const [name, value] of Object.entries(set)) if (value === null) merged.delete(name);
    for (const [name, value] of Object.entries(set)) add(name, value);
    for (const [name, value] of Object.entries(setOnce)) if (!merged.has(name)) add(name, value);
  }
  return Object.fromEntries(merged);
}
