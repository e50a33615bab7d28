// Made by client/generate.ts from server/wire: do not edit, run it again.

export type BatchAnswer = {
  /** Whether all events were accepted. */
  ok: boolean;
  accepted: number;
  rejected: number;
  /** One result for each event, in order. */
  results: Array<{
    ok: true;
    id: string;
  } | Problem>;
};

export type Event = {
  /** Event ID, a UUIDv7. */
  id: string;
  name: string;
  /** Name of the channel. */
  channelId: string;
  /** Empty if the event has no user. */
  userId: string;
  icon?: string;
  notify: boolean;
  tags: Record<string, string>;
  /** Only if it was sent with a different `name`. */
  event?: string;
  /** Markdown. */
  description?: string;
  /** ISO 8601 in UTC, with milliseconds and a trailing Z. */
  createdAt: string;
};

export type EventList = {
  ok: true;
  events: Array<Event>;
  /** Only with `limit`: the cursor of the next page, or null on the last page. */
  nextCursor?: string | null;
};

export type NewEvent = {
  /** Channel name. A channel that doesn't exist is created. At most 64 characters. */
  channel: string;
  /** Event name. Required unless `event` is sent. At most 200 characters. */
  name?: string;
  /** Used as the name if `name` is missing; otherwise stored beside it. At most 200 characters. */
  event?: string;
  /** The user of your application whom the event is about. At most 200 characters. */
  userId?: string;
  /** Alternative spelling of `userId`. Send only one of them. At most 200 characters. */
  user_id?: string;
  /** An emoji, or another short text such as a file name. At most 64 characters. */
  icon?: string;
  /** Notifies the project's members. Default: false. */
  notify?: boolean;
  /** Free-form key-value pairs. At most 50 keys. A value has at most 1,000 characters. */
  tags?: Record<string, string>;
  /** Markdown. At most 10,000 characters. */
  description?: string;
  /** A UUIDv7 created by the client. Sending it again never creates a second event. */
  id?: string;
  /** When the event happened, if not now: ISO 8601 with an offset, or milliseconds since 1970. Events older than an hour never notify. */
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
  /** Position of the error in `q`, from 1. */
  column?: number;
};
