/** The package `eventsource`, which reconnects and resumes by itself, as browsers do. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { EventSource } from "eventsource";
import type { Event } from "../event/event.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

let app: TestApp;
const sources: EventSource[] = [];
beforeAll(async () => {
  app = await testApp();
});
afterAll(async () => {
  for (const source of sources) source.close();
  await app[Symbol.asyncDispose]();
});

/** Opens a stream, and collects the names of its events and the `Last-Event-ID` of each connection. */
function open(query: string) {
  const names: string[] = [];
  const resumedAfter: (string | null)[] = [];
  const source = new EventSource(`${app.address}/api/events/stream${query}`, {
    fetch: (input, init) => {
      const headers = new Headers(init.headers);
      resumedAfter.push(headers.get("last-event-id"));
      headers.set("x-api-key", app.key);
      // A restarted server has another port.
      return fetch(new URL(new URL(input).pathname + query, app.address), {
        ...init,
        headers,
      } as RequestInit);
    },
  });
  source.addEventListener("event", ({ data }) => names.push((JSON.parse(data) as Event).name));
  sources.push(source);
  return { source, names, resumedAfter };
}

test("a stream that breaks off is resumed after its last event, without a gap or a double", async () => {
  const { source, names, resumedAfter } = open("?channel=orders");
  await until(() => source.readyState === EventSource.OPEN);
  for (const name of ["a", "b"]) await app.post({ channel: "orders", name });
  await app.post({ channel: "others", name: "x" });
  await until(() => names.length === 2);

  await app.restart();
  // The client waits before it connects again.
  for (const name of ["c", "d"]) await app.post({ channel: "orders", name });
  await until(() => names.length >= 4);
  await app.post({ channel: "orders", name: "e" });
  await until(() => names.length >= 5);
  expect(names).toEqual(["a", "b", "c", "d", "e"]);
  expect(resumedAfter[0]).toBeNull();
  expect(resumedAfter.at(-1)).toBeString();
});

test("a refused stream ends with an error", async () => {
  const { source } = open("?q=amount%3E");
  const { code } = await new Promise<{ code?: number | undefined }>((resolve) =>
    source.addEventListener("error", resolve),
  );
  expect(code).toBe(400);
  expect(source.readyState).toBe(EventSource.CLOSED);
});
