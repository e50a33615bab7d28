export {
  type CallOptions,
  type ClientOptions,
  createClient,
  type EventPage,
  type ListFilters,
  type TagValue,
  type TidingsClient,
  type TrackedEvent,
} from "./client.ts";
export { TidingsError, TidingsNetworkError } from "./errors.ts";
export type { Fetch } from "./request.ts";
export type { TrackResult } from "./track-many.ts";
export type { Event } from "./wire.gen.ts";
