// Made by client/generate.ts from server/wire: do not edit, run it again.

export type BatchAnswer = {
  /** Whether all events were accepted. */
  ok: boolean;
  accepted: number;
  rejected: number;
  /** One for each event, in order. */
  results: Array<{
    ok: true;
    id: string;
  } | Problem>;
};

export type Event = {
  /** Identifier of the event: a UUIDv7. */
  id: string;
  name: string;
  /** The channel, as it was named when the event was sent. */
  channelId: string;
  /** Empty where the event has no user. */
  userId: string;
  icon?: string;
  notify: boolean;
  tags: Record<string, string>;
  /** Where it was sent beside `name`. */
  event?: string;
  /** Markdown. */
  description?: string;
  /** ISO 8601 in UTC with milliseconds and a trailing Z. */
  createdAt: string;
};

export type EventList = {
  ok: true;
  events: Array<Event>;
  /** Only with `limit`: where the next page starts, or null at the end. */
  nextCursor?: string | null;
};

export type NewEvent = {
  /** Name of the target channel; it is created when it does not exist. At most 64 characters. */
  channel: string;
  /** Name of the event. Needed, unless `event` stands for it. At most 200 characters. */
  name?: string;
  /** The name, where no `name` is sent; otherwise kept beside it. At most 200 characters. */
  event?: string;
  /** The user of your application that the event is about. At most 200 characters. */
  userId?: string;
  /** Another spelling of `userId`; send one of them. At most 200 characters. */
  user_id?: string;
  /** An emoji, or a value like a file name. At most 64 characters. */
  icon?: string;
  /** Notify the project's members. Default: false. */
  notify?: boolean;
  /** Free-form text by key. At most 50 keys. A value has at most 1,000 characters. */
  tags?: Record<string, string>;
  /** Markdown. At most 10,000 characters. */
  description?: string;
  /** A UUIDv7 made by the client: sending it again never makes a second event. */
  id?: string;
  /** When it happened, if not now: ISO 8601 with an offset, or milliseconds since 1970. Events older than an hour never notify. */
  createdAt?: string | number;
};

export type Problem = {
  ok: false;
  type: string;
  title: string;
  status: number;
  detail: string;
  errors?: Array<{
    pointer: string;
    detail: string;
  }>;
  /** Where a search is wrong, from 1. */
  column?: number;
};
