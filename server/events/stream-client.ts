import type { EventFilter } from "../event/filter.ts";
import type { ArrivalStamp } from "../event/id.ts";

/** Who is listening: used to disconnect revoked keys and to send notifications to accounts. */
export type Listener = {
  projectId: number;
  /** It finds the events of all IDs of the people whom it names. */
  filter: EventFilter;
  /** The filter as it was sent, if it names users: a merge changes whose events it finds. */
  sentFilter?: EventFilter;
  keyId?: string;
  accountId?: string;
  sessionId?: string;
  /** Resume after this arrival. Without it, start with new events. */
  after?: ArrivalStamp;
};

/** A listener, and its connection. */
export type StreamClient = Listener & {
  send: (frame: Uint8Array) => void;
  close: () => void;
  /** Neither side has closed it. */
  isConnected: () => boolean;
  /** Its buffer is more than half full. */
  isBehind: () => boolean;
  /** Events up to this arrival were sent from the store, where they can be seen before they are published. */
  caughtUpTo: ArrivalStamp | null;
  /** The number of the project's last deletion when the client came. It is sent only later ones. */
  joinedAfter: number;
  /** Messages that were published while the client catches up, to be sent after that. */
  held: HeldMessage[] | null;
  heldBytes: number;
};

/** Only events have an arrival. */
export type HeldMessage = { arrival: ArrivalStamp | null; frame: Uint8Array };
