import type { ItemGroup } from "./item.ts";
import { filledText, isObject, type JsonObject, lineOf, textOf } from "./text.ts";
import { propertiesOf } from "./user-properties.ts";

/** The type of groups of clients that know only one: Segment's, RudderStack's and LogSnag's. */
export const onlyGroupType = "company";

/** A group of a message; undefined without an ID. An ID isn't cut, because a cut one could name another group. */
export function groupOf(
  type: unknown,
  id: unknown,
  traits: JsonObject,
  member: { userId?: string | undefined; signature?: string | undefined } = {},
): ItemGroup | undefined {
  const groupType = lineOf(type, Number.POSITIVE_INFINITY);
  const groupId = lineOf(filledText(id), Number.POSITIVE_INFINITY);
  if (!groupType || groupId === undefined) return undefined;
  const { userId, signature } = member;
  return {
    type: groupType,
    id: groupId,
    set: propertiesOf(traits),
    ...(userId !== undefined && { userId }),
    ...(signature !== undefined && { signature }),
  };
}

/** The tags by which an event names its groups, from an object of IDs by type. */
export function groupTags(groups: unknown): JsonObject {
  if (!isObject(groups)) return {};
  return Object.fromEntries(
    Object.entries(groups).filter(([type, id]) => type.trim() !== "" && textOf(id) !== undefined),
  );
}
