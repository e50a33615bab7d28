import { afterAll, beforeAll, expect, test } from "bun:test";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import { createClient, type DeletedEvents, type Event, type Fetch, TidingsError } from "./index.ts";

// What the client reads from the real server: pages, live streams, users.

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const client = (fetch?: Fetch) =>
  createClient({ baseUrl: app.address, apiKey: app.key, ...(fetch && { fetch }) });

/** Returns the next event, and fails if there is none. */
async function next(events: AsyncIterator<Event>): Promise<Event> {
  const { value, done } = await events.next();
  if (done) throw new Error("The stream ended.");
  return value;
}

/** Calls back when a stream is open: after that, it misses nothing. */
function openCounter(): { fetch: Fetch; opened: () => Promise<void>; responses: { close: () => void }[] } {
  const responses: { close: () => void }[] = [];
  let onOpen: (() => void) | undefined;
  return {
    responses,
    opened: () => new Promise((resolve) => (onOpen = resolve)),
    fetch: async (url, init) => {
      const controller = new AbortController();
      init.signal!.addEventListener("abort", () => controller.abort());
      const response = await fetch(url, { ...init, signal: controller.signal });
      responses.push({ close: () => controller.abort() });
      onOpen?.();
      return response;
    },
  };
}

/** The message of a rejection. Not `rejects`, which ignores a test's time limit. */
async function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "none",
    (error: Error) => error.message,
  );
}

test("events() returns every event of all pages once", async () => {
  const { trackMany, events } = client();
  const names = Array.from({ length: 25 }, (_, number) => `n ${number}`);
  await trackMany(names.map((name) => ({ channel: "pages", name })));
  const listed: string[] = [];
  for await (const { name } of events({ channel: "pages", order: "asc", limit: 10 })) listed.push(name);
  expect(listed).toEqual(names);
  for await (const { name } of events({ channel: "pages", q: '"n 24"' })) expect(name).toBe("n 24");
  const signal = AbortSignal.abort(new Error("enough"));
  expect(await failureOf(events({}, { signal }).next())).toBe("enough");
});

test("live() gets new events that match, resumes without a gap after each disconnection, and ends by its signal", async () => {
  const { fetch, opened, responses } = openCounter();
  const controller = new AbortController();
  const stream = client(fetch).live({ channel: "live", q: "-plan=free" }, { signal: controller.signal });
  const events = stream[Symbol.asyncIterator]();
  const isOpen = opened();
  let first = next(events);
  await isOpen;
  for (let round = 0; round < 3; round++) {
    const { track } = client();
    await track({ channel: "live", name: "free", tags: { plan: "free" } });
    await track({ channel: "live", name: `before ${round}` });
    expect((await first).name).toBe(`before ${round}`);
    // Nobody reads: the connection breaks, and events arrive meanwhile.
    responses.at(-1)!.close();
    await track({ channel: "live", name: `after ${round}` });
    expect((await next(events)).name).toBe(`after ${round}`);
    first = next(events);
  }
  expect(responses.length).toBe(4);
  expect(stream.lastEventId).toBeString();
  controller.abort(new Error("enough"));
  expect(await failureOf(first)).toBe("enough");
});

test("live() goes on after the event of an earlier stream, and reports deletions and missed events", async () => {
  const { fetch, opened } = openCounter();
  const tidings = client(fetch);
  const earlier = tidings.live({ channel: "resumed" });
  const isOpen = opened();
  const events = earlier[Symbol.asyncIterator]();
  const first = next(events);
  await isOpen;
  await tidings.track({ channel: "resumed", name: "n 0" });
  await first;
  await events.return!(undefined);
  const missed = await tidings.track({ channel: "resumed", name: "n 1" });
  const deleted: DeletedEvents[] = [];
  const later = tidings.live(
    { channel: "resumed" },
    { lastEventId: earlier.lastEventId!, onDeleted: (message) => deleted.push(message) },
  );
  for await (const event of later) {
    if (event.name === "last") break;
    expect(event).toEqual(missed);
    const headers = { cookie: await app.signIn(), origin: app.address };
    expect((await app.request(`/api/events/${event.id}`, { method: "DELETE", headers })).ok).toBeTrue();
    await tidings.track({ channel: "resumed", name: "last" });
  }
  expect(deleted).toEqual([{ ids: [missed.id] }]);

  // The id of another installation, whose events are newer.
  const controller = new AbortController();
  const ahead = tidings.live(
    {},
    {
      lastEventId: `${Date.now() + 86_400_000}-0`,
      onReset: () => controller.abort(new Error("missed")),
      signal: controller.signal,
    },
  );
  expect(await failureOf(ahead[Symbol.asyncIterator]().next())).toBe("missed");
});

test("live() reconnects if nothing arrives", async () => {
  const lastEventIds: (string | undefined)[] = [];
  const controller = new AbortController();
  const silent: Fetch = async (_, init) => {
    lastEventIds.push((init.headers as Record<string, string>)["last-event-id"]);
    if (lastEventIds.length > 1) {
      controller.abort(new Error("enough"));
      throw init.signal!.reason;
    }
    const started = 'event: ready\nid: 7\ndata: {}\n\nevent: event\nid: 8\ndata: {"name":"hal';
    const body = new ReadableStream({
      start(parts) {
        parts.enqueue(new TextEncoder().encode(started));
        init.signal!.addEventListener("abort", () => parts.error(init.signal!.reason));
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const options = { idleTimeoutMs: 50, signal: controller.signal };
  const stream = client(silent).live({}, options);
  expect(await failureOf(stream[Symbol.asyncIterator]().next())).toBe("enough");
  // Half an event doesn't move the position.
  expect(lastEventIds).toEqual([undefined, "7"]);
});

test("live() throws what reconnecting can't mend", async () => {
  const stream = createClient({ baseUrl: app.address, apiKey: "tdg_sk_x" }).live();
  const error = await stream[Symbol.asyncIterator]()
    .next()
    .catch((reason) => reason);
  expect(error).toBeInstanceOf(TidingsError);
  expect(error).toMatchObject({ status: 401, code: "key-invalid" });
});

/** A client of a web page, whose key has no secret for signatures. */
async function pageClient() {
  const headers = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  const body = JSON.stringify({ name: "Pages", kind: "publishable" });
  const response = await app.request("/api/keys?project=default", { method: "POST", headers, body });
  const { secret } = (await response.json()) as { secret: string };
  return createClient({ baseUrl: app.address, apiKey: secret });
}

test("identify() with a publishable key sends a signature, also without another ID", async () => {
  const page = await pageClient();
  const error = await page.identify("u1", {}, { signature: "0".repeat(64) }).catch((reason) => reason);
  expect(error).toMatchObject({ status: 403, code: "signature-invalid" });
});

test("identify() with a publishable key alone sends nothing", async () => {
  const page = createClient({ baseUrl: "http://127.0.0.1:1", apiKey: `tdg_pk_${"a".repeat(36)}` });
  expect(await page.identify("u1", { plan: "pro" })).toEqual({ userId: "u1", properties: { plan: "pro" } });
});

test("group() saves a group, and makes a user a member", async () => {
  const tidings = client();
  await tidings.track({ channel: "users", name: "Signed up", userId: "eve" });
  await tidings.group("company", "acme", { name: "ACME", seats: 5n, gone: undefined }, { userId: "eve" });
  await tidings.group("company", "acme", { seats: null });
  const { events } = await tidings.list({ q: "company:acme" });
  expect(events.map(({ userId }) => userId)).toEqual(["eve"]);
  const error = await tidings.group("user", "acme").catch((reason) => reason);
  expect(error).toBeInstanceOf(TidingsError);
  expect(error.message).toContain("must not be a field of searches");
});

test("identify() sets the properties of a user", async () => {
  const tidings = client();
  await tidings.track({ channel: "users", name: "Signed up", userId: "ada/1" });
  const user = await tidings.identify("ada/1", {
    name: "Ada",
    plan: "pro",
    seats: 5,
    trial: false,
    gone: undefined,
  });
  expect(user).toMatchObject({
    userId: "ada/1",
    events: 1,
    properties: { name: "Ada", plan: "pro", seats: 5, trial: false },
  });
  // Others stay, and null removes one.
  expect((await tidings.identify("ada/1", { plan: "team", seats: null })).properties).toEqual({
    name: "Ada",
    plan: "team",
    trial: false,
  });
  expect(await tidings.identify("..", { plan: "pro" })).toMatchObject({ userId: ".." });
  const error = await tidings.identify("ada/1", { "": "x" }).catch((reason) => reason);
  expect(error).toBeInstanceOf(TidingsError);
});
