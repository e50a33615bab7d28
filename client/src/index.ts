export { createClient } from "./client.ts";
export type {
  BatchingOptions,
  CallOptions,
  ClientOptions,
  DeletedEvents,
  EventPage,
  IdentifiedProperties,
  IdentifiedUser,
  ListFilters,
  LiveEvents,
  LiveFilters,
  LiveOptions,
  TidingsClient,
} from "./client-types.ts";
export { TidingsError, TidingsNetworkError } from "./errors.ts";
export type { DropReason, QueueStorage } from "./queue.ts";
export type { Fetch } from "./request.ts";
export type { PreparedEvent, TrackResult } from "./track-many.ts";
export type { AnyEvents, TagValue, TrackedEvent } from "./tracked-event.ts";
export type { Event, User, UserProperties } from "./wire.gen.ts";
