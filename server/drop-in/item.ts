import type { DropInEvent } from "./event.ts";
import type { UserChange } from "./user-properties.ts";

/** What a wire makes of one of a request's messages. Without event and user, there is nothing to do. */
export type Item = {
  event?: DropInEvent;
  user?: UserChange;
  /** Why the message can't be mapped, as a sentence. */
  fault?: string;
  /** The message, kept if it is rejected and there is no event to fix. */
  sent: unknown;
};

/** Makes the items of messages one after the other, as they are read. */
export function* itemsFrom(messages: unknown[], itemOf: (message: unknown) => Item): Generator<Item> {
  for (const message of messages) yield itemOf(message);
}
