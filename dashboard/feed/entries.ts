import type { Event } from "../../server/event/event.ts";
import { dayNumber } from "../components/zone.ts";

/** An event with the values that its place in the feed depends on, computed once. */
export type FeedEntry = {
  event: Event;
  /** `createdAt` in milliseconds. */
  at: number;
  /** The day in the page's time zone, as a number that differs between days. */
  day: number;
  /** When it arrived by the stream, in milliseconds since 1970; 0 if it was listed or is not highlighted. */
  arrivedAt: number;
};

export function toEntry(event: Event, arrivedAt: number): FeedEntry {
  const at = Date.parse(event.createdAt);
  return { event, at, day: dayNumber(at), arrivedAt };
}

/** Newest first: by time, then by id, as the server lists them. */
export function byTime(a: FeedEntry, b: FeedEntry): number {
  return b.at - a.at || (a.event.id < b.event.id ? 1 : -1);
}

/** Merges two sorted lists. */
export function merge(a: readonly FeedEntry[], b: readonly FeedEntry[]): FeedEntry[] {
  const merged: FeedEntry[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    merged.push(byTime(a[i]!, b[j]!) < 0 ? a[i++]! : b[j++]!);
  }
  while (i < a.length) merged.push(a[i++]!);
  while (j < b.length) merged.push(b[j++]!);
  return merged;
}
