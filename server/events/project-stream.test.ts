import { expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { EventFilter } from "../event/filter.ts";
import { ArrivalClock } from "../event/id.ts";
import { parseSearch } from "../event/search.ts";
import { nextTurn } from "../scheduling/turns.ts";
import type { EventReader } from "../storage/event-store.ts";
import { until } from "../testing/until.ts";
import { LiveStreams } from "./live.ts";
import { ProjectStream } from "./project-stream.ts";
import type { StreamClient } from "./stream-client.ts";

const decoder = new TextDecoder();

/** A client that keeps what it is sent. */
function clientOf(filter: EventFilter) {
  const sent: string[] = [];
  const client: StreamClient = {
    projectId: 1,
    filter,
    send: (frame) => sent.push(...decoder.decode(frame).trim().split("\n\n")),
    close: () => {},
    isConnected: () => true,
    isBehind: () => false,
    caughtUpTo: null,
    joinedAfter: 0,
    held: null,
    heldBytes: 0,
  };
  return { client, sent };
}

function arrivalOf(n: number, event: Partial<Event> = {}) {
  const whole = {
    name: n % 100 === 99 ? "other" : `a${n % 100}x`,
    channelId: "c",
    userId: "",
    notify: false,
    tags: {},
    ...event,
  } as Event;
  return { projectId: 1, event: whole, json: JSON.stringify({ n }), arrival: { ms: n, sequence: 0 } };
}

const prefixes = Array.from({ length: 99 }, (_, n) => `a${n}*`).join(" OR ");

test("an event is matched once for all streams with the same filter, and its words are made once", async () => {
  const stream = new ProjectStream(1);
  const clients = Array.from({ length: 100 }, (_, n) =>
    clientOf({ channel: "c", search: parseSearch(n % 2 === 0 ? prefixes : "a7*")! }),
  );
  for (const { client } of clients) stream.add(client);
  const reads = { name: 0, channelId: 0 };
  const arrival = arrivalOf(1);
  for (const [field, value] of [
    ["name", "a7x"],
    ["channelId", "c"],
  ] as const)
    Object.defineProperty(arrival.event, field, {
      get() {
        reads[field]++;
        return value;
      },
    });
  stream.publish(arrival);
  await until(() => clients.every(({ sent }) => sent.length === 1));
  expect(reads).toEqual({ name: 1, channelId: 2 });
});

test("matching takes turns with other projects, and keeps the order, deletions included", async () => {
  const stream = new ProjectStream(1);
  const clients = Array.from({ length: 20 }, (_, n) =>
    clientOf({ search: parseSearch(`${prefixes} -name:none${n}`)! }),
  );
  for (const { client } of clients) stream.add(client);
  const count = 2_000;
  for (let n = 0; n < count; n++) {
    stream.publish(arrivalOf(n));
    if (n === count / 2) stream.deleted(new TextEncoder().encode("event: deleted\n\n"));
  }
  const late = clientOf({});
  stream.add(late.client);
  late.client.caughtUpTo = { ms: count, sequence: 0 };
  let othersTurns = 0;
  while (clients.some(({ sent }) => sent.length <= count - count / 100)) {
    await nextTurn(2);
    othersTurns++;
  }
  expect(othersTurns).toBeGreaterThan(3);
  const numbers = Array.from({ length: count }, (_, n) => n);
  const expected = numbers.filter((n) => n % 100 !== 99).map((n) => `${n}`);
  expected.splice(expected.indexOf(`${count / 2}`) + 1, 0, "deleted");
  for (const { sent } of clients)
    expect(sent.map((text) => /"n":(\d+)/.exec(text)?.[1] ?? "deleted")).toEqual(expected);
  expect(late.sent).toEqual([]);
});

test("a project that is reset drops what waits and tells its clients, in time for later events", async () => {
  const stream = new ProjectStream(1);
  const { client, sent } = clientOf({});
  stream.add(client);
  for (let n = 0; n < 10; n++) stream.publish(arrivalOf(n));
  expect(stream.queuedCharacters).toBeGreaterThan(0);
  stream.reset({ ms: 9, sequence: 0 });
  expect(stream.queuedCharacters).toBe(0);
  stream.publish(arrivalOf(10));
  await until(() => sent.length === 2);
  expect(sent[0]).toContain("event: reset");
  expect(sent[1]).toContain('"n":10');
});

test("a client that caught up beyond the first events of a chunk gets only the others", async () => {
  const stream = new ProjectStream(1);
  const { client, sent } = clientOf({});
  client.caughtUpTo = { ms: 2, sequence: 0 };
  stream.add(client);
  for (const n of [1, 2, 3, 4]) stream.publish(arrivalOf(n));
  await until(() => sent.some((frame) => frame.includes('{"n":4}')));
  expect(sent.map((frame) => /\{.*\}/.exec(frame)?.[0])).toEqual(['{"n":3}', '{"n":4}']);
});

test("a project whose streams are too far behind is reset, so what waits is bounded", async () => {
  const clock = new ArrivalClock(null);
  const streams = new LiveStreams({} as EventReader, clock, (error) => expect.unreachable(String(error)));
  const reader = streams.open({ projectId: 1, filter: {} }, () => {}).getReader();
  const long = `"${"x".repeat(1_048_576)}"`;
  for (let n = 0; n <= limits.streamQueueCharacters / long.length; n++)
    streams.publish({ ...arrivalOf(n), json: long });
  const texts: string[] = [];
  while (!texts.some((text) => text.includes("event: reset")))
    texts.push(decoder.decode((await reader.read()).value));
  expect(texts.join("")).not.toContain("xxx");
  streams.closeAll();
});
