import { eventOf, timeOf } from "../event.ts";
import { groupOf, onlyGroupType } from "../groups.ts";
import type { Item, ItemGroup, ItemJoining } from "../item.ts";
import { filledText, isObject, type JsonObject, objectOf } from "../text.ts";
import { propertiesOf } from "../user-properties.ts";

const messageTypes = ["track", "identify", "page", "screen", "group", "alias"] as const;
export type MessageType = (typeof messageTypes)[number];

/** The channel of events whose address doesn't name one. */
export const segmentChannel = "segment";

/** Maps a message to an event, or a change to a user's properties. */
export function itemOf(sent: unknown, type: unknown, nowMs: number, channel = segmentChannel): Item {
  if (!isObject(sent)) return { fault: "A message must be an object.", sent };
  const userId = filledText(sent.userId) ?? filledText(sent.anonymousId);
  switch (type as MessageType) {
    case "track":
    case "page":
    case "screen":
      return {
        event: messageEvent(sent, type as "track" | "page" | "screen", { userId, channel, nowMs }),
        ...joiningOf(sent, "event"),
        sent,
      };
    case "identify":
    case "group":
    case "alias":
      if (userId === undefined) return { fault: `"userId" is missing from "${type}".`, sent };
      return {
        user: {
          userId,
          set: changeOf(sent, type as "identify" | "group" | "alias"),
          // With an anonymous ID only, it sets properties of somebody who is not known.
          ...(type === "identify" && filledText(sent.userId) !== undefined && { identifies: true }),
        },
        ...joiningOf(sent, type === "group" ? "event" : (type as "identify" | "alias")),
        ...(type === "group" && groupIn(sent, userId)),
        sent,
      };
    default:
      return { fault: `"type" must be one of ${messageTypes.join(", ")}.`, sent };
  }
}

/** A call of `group` makes its user a member (https://segment.com/docs/connections/spec/group/). */
function groupIn({ groupId, traits, context }: JsonObject, userId: string): { group?: ItemGroup } {
  const signature = filledText(objectOf(context).userSignature);
  const group = groupOf(onlyGroupType, groupId, objectOf(traits), { userId, signature });
  return group ? { group } : {};
}

/** The two IDs of a message, which are one person's; of an alias, the previous ID and the one that replaces it. */
function joiningOf(
  { userId, anonymousId, previousId, context }: JsonObject,
  by: ItemJoining["by"],
): { joining?: ItemJoining } {
  const known = filledText(userId) ?? (by === "alias" ? filledText(anonymousId) : undefined);
  const other = filledText(by === "alias" ? previousId : anonymousId);
  if (known === undefined || other === undefined || known === other) return {};
  const signature = filledText(objectOf(context).userSignature);
  return { joining: { id: other, userId: known, by, ...(signature !== undefined && { signature }) } };
}

function messageEvent(
  message: JsonObject,
  type: "track" | "page" | "screen",
  { userId, channel, nowMs }: { userId: string | undefined; channel: string; nowMs: number },
) {
  const { userId: ownUserId, anonymousId, messageId } = message;
  const { library: _, userSignature: _signature, ...context } = objectOf(message.context);
  const hasBothIds = filledText(ownUserId) !== undefined && filledText(anonymousId) !== undefined;
  // The group of the event (https://segment.com/docs/connections/spec/common/#context).
  const groupId = filledText(context.groupId);
  const createdAtMs = timeOf(message.timestamp) ?? timeOf(message.originalTimestamp);
  return eventOf(
    {
      channel,
      name: type === "track" ? message.event : viewName(message, type),
      userId,
      properties: {
        ...objectOf(message.properties),
        ...(groupId !== undefined && { [onlyGroupType]: groupId }),
        ...(hasBothIds && { anonymousId }),
        context,
      },
      createdAtMs,
      messageId: messageIdOf(messageId),
    },
    nowMs,
  );
}

function messageIdOf(messageId: unknown) {
  const id = filledText(messageId);
  return id === undefined ? undefined : { wire: "segment", id };
}

/** The names that Segment gives pages and screens in its destinations. */
function viewName(message: JsonObject, type: "page" | "screen"): string {
  const { category, name } = { ...objectOf(message.properties), ...message };
  const what = [type === "page" ? filledText(category) : undefined, filledText(name)].filter(Boolean);
  const noun = type === "page" ? "Page" : "Screen";
  return what.length > 0 ? `Viewed ${what.join(" ")} ${noun}` : `Loaded a ${noun}`;
}

function changeOf(message: JsonObject, type: "identify" | "group" | "alias") {
  const traits = objectOf(message.traits ?? objectOf(message.context).traits);
  if (type === "identify") return propertiesOf(traits);
  if (type === "alias") return {};
  return propertiesOf({ id: message.groupId, ...objectOf(message.traits) }, "group.");
}
