import type { GroupChange } from "../schemas/group-rule.ts";
import type { UserChange } from "../users/user-change.ts";
import type { DropInEvent } from "./event.ts";

/** A change of one of the project's values, with the value's title and icon. */
type ValueChange = { key: string; title: string; icon?: string } & ({ value: number } | { add: number });

/** Two IDs that a message gives one person: by an event with both, or by a call that says so. */
export type ItemJoining = {
  /** The anonymous or previous ID. */
  id: string;
  userId: string;
  by: "event" | "identify" | "alias";
  /** Of the user ID, which publishable keys need. */
  signature?: string | undefined;
};

/** What a message says of a group, such as a company. The user becomes a member. */
export type ItemGroup = GroupChange & {
  /** Of the user ID, which publishable keys need. */
  signature?: string | undefined;
};

/** The effects of one of a request's messages: some of these, or none. */
export type Item = {
  event?: DropInEvent;
  user?: UserChange;
  joining?: ItemJoining;
  group?: ItemGroup;
  value?: ValueChange;
  /** Why the message can't be mapped, as a sentence. */
  fault?: string;
  /** How many values the message has, where it was decoded for this item alone. */
  values?: number;
  /** The message, kept if it is rejected and there is no event to fix. */
  sent: unknown;
};

/** Makes the items of messages one after the other, as they are read. */
export function* itemsFrom(messages: unknown[], itemOf: (message: unknown) => Item): Generator<Item> {
  for (const message of messages) yield itemOf(message);
}
