import { limits } from "../core/limits.ts";
import { searchFields } from "../event/search.ts";
import { faultInText } from "../validation/text-rule.ts";
import type { UserProperties } from "./user-rule.ts";

/** Rules for groups, without schemas, so that the dashboard can check what it imports. */

/** What a call says of a group. */
export type GroupChange = {
  type: string;
  id: string;
  /** Null removes a property. */
  set?: UserProperties;
  /** An ID that becomes a member. */
  userId?: string;
};

export const groupIdText = { max: limits.groupIdCharacters, filled: true };
const typeText = { max: limits.tagKeyCharacters, filled: true };

/** What is wrong with a type of groups, as the second half of a sentence, or null. */
export function faultInGroupType(type: string): string | null {
  if (searchFields.some((field) => field === type))
    return `must not be a field of searches, such as "${type}". Choose another word`;
  return faultInText(type, typeText);
}

/** What is wrong with a group's ID. */
export function faultInGroupId(id: string): string | null {
  return faultInText(id, groupIdText);
}
