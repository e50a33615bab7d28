import { limits } from "../core/limits.ts";
import { clipped } from "../core/problems.ts";
import { faultInText } from "../validation/text-rule.ts";

/** Rules for users, without schemas, so that the dashboard can check what it imports. */

export type UserProperties = Record<string, string | number | boolean | null>;

export const userIdText = { max: limits.userIdCharacters };
const propertyName = { max: limits.tagKeyCharacters, filled: true };
export const propertyText = { max: limits.tagValueCharacters, lines: true };

/**
 * What is wrong with a user ID, as the second half of a sentence, or null. It may be blank but not empty, because
 * events without a user have an empty one.
 */
export function faultInUserId(userId: string): string | null {
  return userId === "" ? "must not be empty" : faultInText(userId, userIdText);
}

export type PropertyFault = { path: string[]; message: string };

/** What is wrong with a user's properties: for each fault its path, and the second half of a sentence. */
export function faultsInProperties(properties: unknown): PropertyFault[] {
  if (typeof properties !== "object" || properties === null || Array.isArray(properties))
    return [{ path: [], message: "must be an object" }];
  const entries = Object.entries(properties);
  if (entries.length > limits.userProperties)
    return [{ path: [], message: `has more than ${limits.userProperties} properties` }];
  const faults: PropertyFault[] = [];
  for (const [name, value] of entries) {
    const faultInName = faultInText(name, propertyName);
    if (faultInName !== null) {
      faults.push({ path: [clipped(name)], message: `is not a valid name: it ${faultInName}` });
      continue;
    }
    const message = faultInValue(value);
    if (message !== null) faults.push({ path: [name], message });
  }
  return faults;
}

function faultInValue(value: unknown): string | null {
  if (value === null || typeof value === "boolean") return null;
  // JSON.parse reads 1e999 as Infinity, which JSON can't express.
  if (typeof value === "number") return Number.isFinite(value) ? null : "must be a number of at most 1.8e308";
  return typeof value === "string"
    ? faultInText(value, propertyText)
    : "must be a string, number, boolean or null; properties can't be nested";
}
