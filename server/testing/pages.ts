import { expect } from "bun:test";
import fc from "fast-check";
import type { Event } from "../event/event.ts";

/** Page sizes: mostly large enough for a listing of few pages, sometimes as small as one event. */
export const pageLimit = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 20, max: 60 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }) },
);

/** Like `toEqual`, but much faster for hundreds of events. */
export function expectSameEvents(events: Event[], expected: Event[]): void {
  if (JSON.stringify(events) !== JSON.stringify(expected)) expect(events).toEqual(expected);
}
