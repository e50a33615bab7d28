import { expect } from "bun:test";
import fc from "fast-check";
import type { Event } from "../event/event.ts";

/** How many events a page has: mostly so many that a listing takes few pages, and now and then a single one. */
export const pageLimit = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 20, max: 60 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }) },
);

/** Like `toEqual`, which takes far longer for hundreds of events. */
export function expectSameEvents(events: Event[], expected: Event[]): void {
  if (JSON.stringify(events) !== JSON.stringify(expected)) expect(events).toEqual(expected);
}
