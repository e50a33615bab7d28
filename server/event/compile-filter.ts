import { compileSearch, type EventTest } from "./compile-search.ts";
import type { Event } from "./event.ts";
import { type EventFilter, passes } from "./filter.ts";

const compiled = new WeakMap<EventFilter, EventTest>();

/** Whether an event matches a filter. The filter is compiled at its first event, so it must not change. */
export function matches(filter: EventFilter, event: Event): boolean {
  let test = compiled.get(filter);
  if (test === undefined) {
    test = compileFilter(filter);
    compiled.set(filter, test);
  }
  return test(event);
}

/** Compiles a filter to a function that tells whether an event matches. */
export function compileFilter(filter: EventFilter): EventTest {
  const isFound: EventTest = filter.search === undefined ? () => true : compileSearch(filter.search);
  return (event) => passes(filter, event) && isFound(event);
}
