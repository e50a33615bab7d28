import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { createClient, TidingsError, TidingsNetworkError, type TrackedEvent } from "./index.ts";
import { apiKey, type ContractServer, contractServer } from "./testing/contract-server.ts";

const event: TrackedEvent = { channel: "payments", name: "Payment received" };

let server: ContractServer;
let random: ReturnType<typeof spyOn<Math, "random">>;
beforeEach(() => {
  server = contractServer();
  // With full jitter the wait may be zero; the tests always draw that.
  random = spyOn(Math, "random").mockReturnValue(0);
});
afterEach(async () => {
  random.mockRestore();
  await server[Symbol.asyncDispose]();
});

function client(options: Partial<Parameters<typeof createClient>[0]> = {}) {
  return createClient({ baseUrl: server.url, apiKey, ...options });
}

function unavailable(headers: Record<string, string> = {}, status = 503) {
  return { response: new Response("no", { status, headers }) };
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  if (!(error instanceof Error)) throw new Error(`expected a rejection with an Error, not ${error}`);
  return error;
}

describe("track", () => {
  test("resolves to the stored event", async () => {
    const tracked = await client().track({
      ...event,
      userId: "u1",
      icon: "💰",
      notify: true,
      tags: { plan: "pro" },
    });
    expect(tracked).toEqual([...server.events.values()][0]!);
    expect(tracked).toMatchObject({
      name: "Payment received",
      channelId: "payments",
      userId: "u1",
      icon: "💰",
      notify: true,
      tags: { plan: "pro" },
    });
  });

  test("ids increase in the order of the calls", async () => {
    const { track } = client();
    await Promise.all(Array.from({ length: 50 }, () => track(event)));
    const tracked = await Promise.all([track(event), track(event), track(event)]);
    const ids = tracked.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(server.events.size).toBe(53);
  });

  test("keeps the caller's id", async () => {
    const id = "0192f0c1-9c4a-7d3e-8b1f-2a6b7c8d9e0f";
    await client().track({ ...event, id });
    await client().track({ ...event, id });
    expect([...server.events.keys()]).toEqual([id]);
  });

  test("returns the event as it was sent if the key may not read what was stored before", async () => {
    const id = "0192f0c1-9c4a-7d3e-8b1f-2a6b7c8d9e0f";
    const json = { ok: true, duplicate: true, event: { id } };
    server.mishaps.push({ response: Response.json(json) });
    const tracked = await client().track({ ...event, id, tags: { plan: "pro" } });
    expect(tracked).toMatchObject({ id, channelId: "payments", name: event.name, tags: { plan: "pro" } });
  });

  test("works under a path and with trailing slashes", async () => {
    await client({ baseUrl: `${server.url}/tidings//` }).track(event);
    expect(server.requests[0]!.url.pathname).toBe("/tidings/api/events");
  });

  test("sends numbers, booleans, bigints and dates in tags as strings, and omits null and undefined", async () => {
    const paidAt = new Date("2026-01-31T09:30:00Z");
    const tags = {
      plan: "pro",
      amount: 42.5,
      trial: false,
      cents: 10n ** 20n,
      paidAt,
      coupon: null,
      city: undefined,
    };
    const tracked = await client().track({ ...event, tags });
    expect(tracked.tags).toEqual({
      plan: "pro",
      amount: "42.5",
      trial: "false",
      cents: "100000000000000000000",
      paidAt: "2026-01-31T09:30:00.000Z",
    });
  });

  test("a tag named __proto__ arrives", async () => {
    const tags = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
    await client().track({ ...event, tags });
    expect(JSON.stringify(server.requests[0]!.body)).toContain('"tags":{"__proto__":"x"}');
  });

  test("a tag value that can't be converted to a string is a TypeError, and nothing is sent", async () => {
    const tags = { plan: { name: "pro" } } as never;
    const error = await failure(client().track({ ...event, tags }));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain('The tag "plan" is object');
    expect(await failure(client().track({ ...event, tags: { at: new Date(Number.NaN) } }))).toBeInstanceOf(
      TypeError,
    );
    expect(server.requests).toEqual([]);
  });

  test("accepts createdAt as a Date, a string or milliseconds", async () => {
    const at = new Date("2026-01-31T09:30:00.250Z");
    for (const createdAt of [at, at.toISOString(), at.getTime()]) {
      const tracked = await client().track({ ...event, createdAt });
      expect(tracked.createdAt).toBe("2026-01-31T09:30:00.250Z");
    }
  });
});

describe("retries", () => {
  test("a response that breaks off: the event is stored once and returned", async () => {
    server.mishaps.push("broken-response", "broken-response");
    const tracked = await client().track(event);
    expect([...server.events.values()]).toEqual([tracked]);
    expect(server.requests.length).toBe(3);
    expect(new Set(server.requests.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  test("no response within the time limit: the event is stored once and returned", async () => {
    server.mishaps.push("silence");
    const tracked = await client({ timeoutMs: 100 }).track(event);
    expect([...server.events.values()]).toEqual([tracked]);
    expect(server.requests.length).toBe(2);
  });

  test("a proxy that responds with 502 although the event was stored: stored once", async () => {
    server.mishaps.push({ ...unavailable({}, 502), stored: true });
    const tracked = await client().track(event);
    expect([...server.events.values()]).toEqual([tracked]);
  });

  for (const status of [408, 429, 500, 502, 503, 504, 507]) {
    test(`${status} is retried`, async () => {
      server.mishaps.push(unavailable({}, status));
      await client().track(event);
      expect(server.requests.length).toBe(2);
    });
  }

  for (const status of [400, 401, 403, 404, 409, 413, 415, 422]) {
    test(`${status} is final`, async () => {
      server.mishaps.push(unavailable({}, status));
      expect(await failure(client().track(event))).toMatchObject({
        name: "TidingsError",
        status,
        code: `http-${status}`,
      });
      expect(server.requests.length).toBe(1);
    });
  }

  test("fails after five attempts with the last error", async () => {
    for (let count = 0; count < 9; count++) server.mishaps.push(unavailable());
    const error = await failure(client().track(event));
    expect(error).toBeInstanceOf(TidingsError);
    expect(error).toMatchObject({ status: 503, code: "http-503", errors: [] });
    expect(server.requests.length).toBe(5);
  });

  test("retries: 0 is one attempt", async () => {
    server.mishaps.push(unavailable());
    await failure(client({ retries: 0 }).track(event));
    expect(server.requests.length).toBe(1);
  });

  test("waits as long as Retry-After says, plus jitter", async () => {
    server.mishaps.push(unavailable({ "retry-after": "1" }, 429));
    await client().track(event);
    expect(server.requests[1]!.atMs - server.requests[0]!.atMs).toBeGreaterThanOrEqual(990);
  });

  test("does not wait when Retry-After asks for more than a minute", async () => {
    server.mishaps.push(unavailable({ "retry-after": "3600" }));
    expect(await failure(client().track(event))).toMatchObject({ status: 503, retryAfterMs: 3_600_000 });
    expect(server.requests.length).toBe(1);
  });

  test("nothing listens: a network error with its cause, after the last attempt", async () => {
    const baseUrl = server.url;
    await server[Symbol.asyncDispose]();
    const error = await failure(client({ baseUrl, retries: 2 }).track(event));
    expect(error).toBeInstanceOf(TidingsNetworkError);
    expect(error).toMatchObject({ attempts: 3 });
    expect(error.message).toStartWith(`No response from ${baseUrl}/api/events (attempt 3): `);
    expect(error.cause).toBeInstanceOf(Error);
  });

  test("no response: a network error that says the time limit passed", async () => {
    server.mishaps.push("silence", "silence");
    const error = await failure(client({ retries: 1, timeoutMs: 50 }).track(event));
    expect(error).toBeInstanceOf(TidingsNetworkError);
    expect(error.message).toContain("no response within 50 ms");
    expect(error.cause).toMatchObject({ name: "TimeoutError" });
  });
});

describe("rejections", () => {
  test("an invalid body is a TidingsError with pointers", async () => {
    const wrong = { ...event, name: "", icn: "💰" } as TrackedEvent;
    const error = await failure(client().track(wrong));
    expect(error).toBeInstanceOf(TidingsError);
    expect(error).toMatchObject({ status: 422, code: "body-invalid" });
    expect((error as TidingsError).errors.map(({ pointer }) => pointer)).toEqual(["/icn", "/name"]);
    expect(error.message).toBe(`${(error as TidingsError).detail} (422 body-invalid)`);
    expect(server.requests.length).toBe(1);
  });

  test("an unknown key is a TidingsError", async () => {
    const error = await failure(client({ apiKey: "tdg_sk_wrong" }).track(event));
    expect(error).toMatchObject({ status: 401, code: "key-invalid", detail: "This API key is not known." });
  });

  test("a redirect is an error with its location, and never followed", async () => {
    const location = "https://tidings.example.com/api/events";
    server.mishaps.push(unavailable({ location }, 301));
    const error = await failure(client().track(event));
    expect(error).toMatchObject({ status: 301, code: "redirected" });
    expect(error.message).toContain(location);
    expect(server.requests.length).toBe(1);
  });

  test("a 2xx that does not come from Tidings is an error", async () => {
    for (const response of [new Response("<html>"), Response.json({}), new Response(null, { status: 204 })]) {
      server.mishaps.push({ response });
      expect(await failure(client().track(event))).toMatchObject({ code: "response-invalid" });
    }
  });
});

describe("signals", () => {
  test("the call's signal ends an attempt", async () => {
    server.mishaps.push("silence");
    const error = await failure(client().track(event, { signal: AbortSignal.timeout(50) }));
    expect(error.name).toBe("TimeoutError");
    expect(server.requests.length).toBe(1);
  });

  test("the client's signal ends the wait between attempts", async () => {
    const controller = new AbortController();
    server.mishaps.push(unavailable({ "retry-after": "30" }));
    const failed = failure(client({ signal: controller.signal }).track(event));
    while (server.requests.length === 0) await Bun.sleep(5);
    await Bun.sleep(50);
    const reason = new Error("shutting down");
    controller.abort(reason);
    expect(await failed).toBe(reason);
  });

  test("an aborted signal sends nothing", async () => {
    const reason = new Error("shutting down");
    expect(await failure(client().track(event, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(server.requests).toEqual([]);
  });
});

describe("list", () => {
  test("resolves to the events; nextCursor is null without a limit", async () => {
    const { track, list } = client();
    const first = await track(event);
    const second = await track(event);
    expect(await list()).toEqual({ events: [second, first], nextCursor: null });
  });

  test("sends the filters as query parameters", async () => {
    await client().list({
      limit: 50,
      cursor: "abc",
      order: "asc",
      channel: "payments",
      userId: "u 1&2",
      name: "Größe",
      notify: false,
      from: new Date("2026-01-31T09:30:00Z"),
      to: Date.parse("2026-02-01T00:00:00Z"),
      q: "pay* -plan=free",
      tags: { plan: "pro", amount: 42, none: null },
    });
    expect(Object.fromEntries(server.requests[0]!.url.searchParams)).toEqual({
      limit: "50",
      cursor: "abc",
      order: "asc",
      channel: "payments",
      userId: "u 1&2",
      name: "Größe",
      notify: "false",
      from: "2026-01-31T09:30:00.000Z",
      to: "2026-02-01T00:00:00.000Z",
      q: "pay* -plan=free",
      "tag.plan": "pro",
      "tag.amount": "42",
    });
  });

  test("passes on timestamps as strings, omits undefined filters and a null cursor", async () => {
    await client().list({ from: "2026-01-31T10:30:00+01:00", to: undefined as never, cursor: null });
    expect([...server.requests[0]!.url.searchParams]).toEqual([["from", "2026-01-31T10:30:00+01:00"]]);
  });

  test("retries like track", async () => {
    server.mishaps.push(unavailable());
    expect(await client().list()).toEqual({ events: [], nextCursor: null });
    expect(server.requests.length).toBe(2);
  });
});

describe("createClient", () => {
  const wrong: [string, object][] = [
    ["no baseUrl", { baseUrl: "" }],
    ["a baseUrl without a scheme", { baseUrl: "tidings.example.com" }],
    ["a baseUrl with a query", { baseUrl: "https://tidings.example.com/?a" }],
    ["no key", { apiKey: "" }],
    ["an undefined key", { apiKey: undefined }],
    ["a key with a line end", { apiKey: `${apiKey}\n` }],
    ["negative retries", { retries: -1 }],
    ["no time", { timeoutMs: 0 }],
  ];
  for (const [what, options] of wrong) {
    test(`${what} is a TypeError`, () => expect(() => client(options)).toThrow(TypeError));
  }

  test("uses the caller's fetch", async () => {
    const called: string[] = [];
    const own = (url: string, init: RequestInit) => {
      called.push(url);
      return fetch(url, init);
    };
    await client({ fetch: own }).track(event);
    expect(called).toEqual([`${server.url}/api/events`]);
  });
});
