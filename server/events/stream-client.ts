import type { EventFilter } from "../event/filter.ts";
import type { ArrivalStamp } from "../event/id.ts";

/** Who is listening: used to disconnect revoked keys and to send notifications to accounts. */
export type Listener = {
  projectId: number;
  filter: EventFilter;
  keyId?: string;
  accountId?: string;
  sessionId?: string;
  /** Resume after this arrival. Without it, start with new events. */
  after?: ArrivalStamp;
};

/** A listener, and its connection. */
export type StreamClient = Listener & {
  /** It has no filter, so it gets every event of its project. */
  isUnfiltered: boolean;
  send: (frame: Uint8Array) => void;
  close: () => void;
  /** Neither side has closed it. */
  isConnected: () => boolean;
  /** Its buffer is more than half full. */
  isBehind: () => boolean;
  /** Events up to this arrival were sent from the store, where they can be seen before they are published. */
  caughtUpTo: ArrivalStamp | null;
  /** Messages that were published while the client catches up, to be sent after that. Only events have an arrival. */
  held: { arrival: ArrivalStamp | null; frame: Uint8Array }[] | null;
  heldBytes: number;
};
