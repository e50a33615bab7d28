// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import { validEvent } from "../testing/arbitraries.ts";
import { effort } from "../testing/engine.ts";
import { scenarios, send } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const ok = { channel: "payments", name: "Payment received" };
const astral = "💰";

describe("an event is accepted", () => {
  scenarios(
    () => app,
    [
      {
        name: "with a channel and a name alone, and the rest by default",
        body: ok,
        status: 201,
        holds: {
          ok: true,
          event: { name: ok.name, channelId: ok.channel, userId: "", notify: false, tags: {} },
        },
      },
      {
        name: "in the form with userId",
        body: { ...ok, userId: "u1", icon: "💰", notify: true, tags: { plan: "pro" } },
        status: 201,
        holds: { event: { userId: "u1", icon: "💰", notify: true, tags: { plan: "pro" } } },
      },
      {
        name: "in the form with user_id and event",
        body: { ...ok, event: "payment", user_id: "u1" },
        status: 201,
        holds: { event: { name: ok.name, event: "payment", userId: "u1" } },
      },
      {
        name: "with event in the place of name",
        body: { channel: "a", event: "login" },
        status: 201,
        holds: { event: { name: "login" } },
      },
      {
        name: "with userId and user_id that agree",
        body: { ...ok, userId: "u", user_id: "u" },
        status: 201,
        holds: { event: { userId: "u" } },
      },
      {
        name: "with an icon like a file name",
        body: { ...ok, icon: "party-popper.png" },
        status: 201,
        holds: { event: { icon: "party-popper.png" } },
      },
      {
        name: "as application/json with a charset",
        headers: { "content-type": "application/json; charset=utf-8" },
        body: ok,
        status: 201,
      },
      {
        name: "as a +json type",
        headers: { "content-type": "application/vnd.app+json" },
        body: ok,
        status: 201,
      },
      {
        name: "as text/plain, as navigator.sendBeacon sends it",
        headers: { "content-type": "text/plain;charset=UTF-8" },
        body: ok,
        status: 201,
      },
      { name: "with white space around the JSON", body: ` \n${JSON.stringify(ok)}\t`, status: 201 },
      {
        name: "dated with an offset",
        body: { ...ok, createdAt: "2026-01-31T10:30:00.123+01:00" },
        status: 201,
        holds: { event: { createdAt: "2026-01-31T09:30:00.123Z" } },
      },
      {
        name: "dated to the minute",
        body: { ...ok, createdAt: "2026-01-31T10:30Z" },
        status: 201,
        holds: { event: { createdAt: "2026-01-31T10:30:00.000Z" } },
      },
      {
        name: "dated in nanoseconds, which are cut",
        body: { ...ok, createdAt: "2026-01-31T10:30:00.123999999Z" },
        status: 201,
        holds: { event: { createdAt: "2026-01-31T10:30:00.123Z" } },
      },
      {
        name: "dated in milliseconds since 1970",
        body: { ...ok, createdAt: 1_769_855_400_000 },
        status: 201,
        holds: { event: { createdAt: "2026-01-31T10:30:00.000Z" } },
      },
      {
        name: "dated at the very start of 1970",
        body: { ...ok, createdAt: 0 },
        status: 201,
        holds: { event: { createdAt: "1970-01-01T00:00:00.000Z" } },
      },
      {
        name: "dated some hours ahead, by a clock that runs fast",
        body: { ...ok, createdAt: Date.now() + 3_600_000 },
        status: 201,
      },
      {
        name: "on 29 February of a leap year",
        body: { ...ok, createdAt: "2024-02-29T00:00:00Z" },
        status: 201,
      },
    ],
  );

  test("with a key in x-api-key, in any case, or as a bearer token", async () => {
    const { key } = app;
    const ways: Record<string, string>[] = [
      { "x-api-key": key },
      { "X-API-KEY": key },
      { "X-Api-Key": key },
      { Authorization: `Bearer ${key}` },
      { authorization: `bearer ${key}` },
    ];
    for (const headers of ways) {
      expect((await send(app, { key: null, headers, body: ok })).status).toBe(201);
      expect((await send(app, { key: null, headers })).status).toBe(200);
    }
  });

  test("with exactly the fields of listings, and with the server's id and timestamp", async () => {
    const before = Date.now();
    const { event } = (await (await app.post(ok)).json()) as { event: Event };
    expect(Object.keys(event)).toEqual(["id", "name", "channelId", "userId", "notify", "tags", "createdAt"]);
    expect(event.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(event.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(event.createdAt)).toBeWithin(before - 1, Date.now() + 1_000);
  });

  test("and its channel exists at once", async () => {
    await app.post({ channel: "made on the fly", name: "first" });
    const { channels } = (await (await app.request("/api/channels")).json()) as { channels: object[] };
    expect(channels).toContainEqual(expect.objectContaining({ id: "made on the fly", events: 1 }));
  });

  test("and is returned unchanged, whatever it contains", async () => {
    await fc.assert(
      fc.asyncProperty(validEvent, async (sent) => {
        const response = await app.post(sent);
        expect(response.status).toBe(201);
        const { event } = (await response.json()) as { event: Event };
        const {
          channel,
          name,
          event: kept,
          userId = "",
          icon,
          notify = false,
          tags = {},
          description,
        } = sent;
        expect(text(event)).toBe(
          text({
            id: event.id,
            name,
            channelId: channel,
            userId,
            ...(icon !== undefined && { icon }),
            notify,
            tags,
            ...(kept !== undefined && { event: kept }),
            ...(description !== undefined && { description }),
            createdAt: event.createdAt,
          }),
        );
        const found = (await (await app.request(`/api/events/${event.id}`)).json()) as { event: Event };
        expect(text(found.event)).toBe(text(event));
        const [newest] = await app.list(`?limit=1&to=${Date.parse(event.createdAt) + 1}`);
        expect(text(newest)).toBe(text(event));
      }),
      { numRuns: effort(50, 150) },
    );
  });

  // Compared as texts, because `toEqual` ignores an own `__proto__`.
  const text = (value: unknown): string => JSON.stringify(value);
});

describe("every limit holds, counted in code points", () => {
  const cases: [member: string, max: number, change: (text: string) => object, pointer: string][] = [
    ["channel", limits.channelCharacters, (channel) => ({ channel }), "/channel"],
    ["name", limits.nameCharacters, (name) => ({ name }), "/name"],
    ["event", limits.nameCharacters, (event) => ({ event }), "/event"],
    ["userId", limits.userIdCharacters, (userId) => ({ userId }), "/userId"],
    ["user_id", limits.userIdCharacters, (user_id) => ({ user_id }), "/user_id"],
    ["icon", limits.iconCharacters, (icon) => ({ icon }), "/icon"],
    ["description", limits.descriptionCharacters, (description) => ({ description }), "/description"],
    ["a tag's key", limits.tagKeyCharacters, (key) => ({ tags: { [key]: "v" } }), ""],
    ["a tag's value", limits.tagValueCharacters, (value) => ({ tags: { key: value } }), "/tags/key"],
  ];
  for (const [member, max, change, pointer] of cases) {
    for (const unit of ["x", astral]) {
      test(`${member}: ${max} times "${unit}" is accepted, one more is rejected`, async () => {
        expect((await app.post({ ...ok, ...change(unit.repeat(max)) })).status).toBe(201);
        const rejected = await app.post({ ...ok, ...change(unit.repeat(max + 1)) });
        expect(rejected.status).toBe(422);
        const { errors } = (await rejected.json()) as { errors: { pointer: string; detail: string }[] };
        expect(errors).toHaveLength(1);
        expect(errors[0]!.detail).toContain(`at most ${max.toLocaleString("en")} characters`);
        if (pointer) expect(errors[0]!.pointer).toBe(pointer);
      });
    }
  }

  const tagsOf = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
  scenarios(
    () => app,
    [
      { name: "50 tags are accepted", body: { ...ok, tags: tagsOf(50) }, status: 201 },
      {
        name: "51 tags are rejected",
        body: { ...ok, tags: tagsOf(51) },
        status: 422,
        says: ['"/tags"', "50 tags", "51"],
      },
      {
        name: "a full event of astral characters fits into the size of a body",
        status: 201,
        body: {
          ...ok,
          description: astral.repeat(limits.descriptionCharacters),
          tags: Object.fromEntries(
            Array.from({ length: 50 }, (_, index) => [`${index}`, astral.repeat(limits.tagValueCharacters)]),
          ),
        },
      },
    ],
  );

  test("a body of 1 MB is accepted, a byte more is too large, with and without a length", async () => {
    const sized = (bytes: number) => {
      const frame = JSON.stringify({ ...ok, padding: "" });
      return frame.replace('""', `"${"x".repeat(bytes - frame.length)}"`);
    };
    const chunked = (text: string) =>
      new ReadableStream({
        start(controller) {
          for (let at = 0; at < text.length; at += 100_000)
            controller.enqueue(Buffer.from(text.slice(at, at + 100_000)));
          controller.close();
        },
      });
    for (const bodyOf of [(text: string) => text, chunked]) {
      // It is read, and rejected for its content rather than its size.
      expect((await send(app, { body: bodyOf(sized(limits.eventBytes)) })).status).toBe(422);
      for (const bytes of [limits.eventBytes + 1, 3 * limits.eventBytes]) {
        const rejected = await send(app, { body: bodyOf(sized(bytes)) });
        expect(rejected.status).toBe(413);
        expect(await rejected.json()).toMatchObject({ ok: false, type: "/problems/body-too-large" });
      }
    }
    expect((await app.post(ok)).status).toBe(201);
  });
});

describe("an event is rejected", () => {
  const rejections: [name: string, body: unknown, pointer: string, says: string][] = [
    ["without a channel", { name: "x" }, "/channel", "missing"],
    ["without a name", { channel: "x" }, "/name", "missing"],
    ["with a blank channel", { ...ok, channel: " " }, "/channel", "blank"],
    ["with an empty name", { ...ok, name: "" }, "/name", "blank"],
    ["with a name that is a number", { ...ok, name: 7 }, "/name", "a number"],
    ["with a name that is null", { ...ok, name: null }, "/name", "null"],
    ["with a misspelt member", { ...ok, chanel: "x" }, "/chanel", 'Did you mean "channel"?'],
    ["with userid for userId", { ...ok, userid: "x" }, "/userid", 'Did you mean "user'],
    ["with a member that resembles none", { ...ok, "a/b~c": 1 }, "/a~1b~0c", "Unknown field"],
    [
      "with a field named __proto__",
      '{"channel":"a","name":"b","__proto__":{"x":1}}',
      "/__proto__",
      "Unknown field",
    ],
    [
      "with channelId, which only listings have",
      { ...ok, channelId: "x" },
      "/channelId",
      'Did you mean "channel"?',
    ],
    ["with userId and user_id that differ", { ...ok, userId: "a", user_id: "b" }, "/user_id", "differ"],
    ["with a notify that is a text", { ...ok, notify: "true" }, "/notify", "true or false"],
    ["with tags that are a list", { ...ok, tags: ["a"] }, "/tags", "an array"],
    ["with tags that are null", { ...ok, tags: null }, "/tags", "null"],
    ["with a tag that is a number", { ...ok, tags: { amount: 49 } }, "/tags/amount", 'Send it as "49"'],
    ["with a tag that is a boolean", { ...ok, tags: { paid: true } }, "/tags/paid", 'Send it as "true"'],
    ["with a tag that is null", { ...ok, tags: { paid: null } }, "/tags/paid", "null"],
    ["with a tag that is an object", { ...ok, tags: { a: { b: "c" } } }, "/tags/a", "an object"],
    [
      "with a tag named __proto__ that is a number",
      '{"channel":"a","name":"b","tags":{"__proto__":1}}',
      "/tags/__proto__",
      "a number",
    ],
    ["with a blank tag key", { ...ok, tags: { "": "v" } }, "/tags/", "blank"],
    ["with a tag key that a pointer escapes", { ...ok, tags: { "a/b~c": 1 } }, "/tags/a~1b~0c", "a number"],
    ["with a control character in the name", { ...ok, name: "a\u0007b" }, "/name", "U+0007"],
    ["with a line end in the name", { ...ok, name: "a\nb" }, "/name", "U+000A"],
    ["with a tab in the channel", { ...ok, channel: "a\tb" }, "/channel", "U+0009"],
    ["with a C1 control character in the user", { ...ok, userId: "a\u0085b" }, "/userId", "U+0085"],
    ["with a NUL in a tag's value", { ...ok, tags: { a: "x\u0000y" } }, "/tags/a", "U+0000"],
    ["with a line end in a tag's key", { ...ok, tags: { "a\nb": "x" } }, "/tags/a\nb", "U+000A"],
    ["with a lone surrogate in the name", '{"channel":"a","name":"x\\ud800"}', "/name", "lone surrogate"],
    [
      "with a lone surrogate in a tag's key",
      '{"channel":"a","name":"b","tags":{"\\udc00":"v"}}',
      "/tags/\ufffd",
      "lone surrogate",
    ],
    ["with an id that is no UUID", { ...ok, id: "42" }, "/id", "UUIDv7"],
    ["with an id of version 4", { ...ok, id: "9f1c2e9a-4b1d-4c59-8f0e-3f6a2b1c0d9e" }, "/id", "UUIDv7"],
    ["with an id that is a number", { ...ok, id: 7 }, "/id", "UUIDv7"],
    ["dated without an offset", { ...ok, createdAt: "2026-01-31T10:30:00" }, "/createdAt", "offset"],
    ["dated with a day alone", { ...ok, createdAt: "2026-01-31" }, "/createdAt", "ISO 8601"],
    ["dated on 30 February", { ...ok, createdAt: "2026-02-30T10:30:00Z" }, "/createdAt", "ISO 8601"],
    ["dated in an hour that is none", { ...ok, createdAt: "2026-01-31T25:00:00Z" }, "/createdAt", "ISO 8601"],
    ["dated in seconds", { ...ok, createdAt: 1_769_855_400 }, "/createdAt", "seconds"],
    [
      "dated in a fraction of a millisecond",
      { ...ok, createdAt: 1_769_855_400_000.5 },
      "/createdAt",
      "ISO 8601",
    ],
    ["dated before 1970", { ...ok, createdAt: -1 }, "/createdAt", "1970"],
    ["dated more than a day ahead", { ...ok, createdAt: Date.now() + 90_000_000 }, "/createdAt", "ahead"],
    ["dated in the year 9999", { ...ok, createdAt: "9999-12-31T23:59:59Z" }, "/createdAt", "ahead"],
    ["as a text", '"event"', "", "a JSON object"],
    ["as null", "null", "", "a JSON object"],
  ];
  for (const [name, body, pointer, says] of rejections) {
    test(name, async () => {
      const response = await send(app, { body });
      expect(response.status).toBe(422);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      const problem = (await response.json()) as {
        detail: string;
        errors: { pointer: string; detail: string }[];
      };
      expect(problem).toMatchObject({ ok: false, type: "/problems/body-invalid", status: 422 });
      expect(problem.errors).toEqual([{ pointer, detail: expect.stringContaining(says) }]);
      expect(problem.detail).toBe(problem.errors[0]!.detail);
    });
  }

  const unread = (part: string) => ({
    status: 400,
    holds: { type: "/problems/body-malformed" },
    says: [part],
  });
  scenarios(
    () => app,
    [
      {
        name: "with every fault told at once",
        body: { notify: 1, tags: { a: 1, b: 2 } },
        status: 422,
        says: ["/channel", "/name", "/notify", "/tags/a", "/tags/b", "and 4 more"],
      },
      { name: "without a body", body: "", ...unread("empty") },
      { name: "with a blank body", body: " \n ", ...unread("empty") },
      { name: "cut off in the middle", body: '{"channel":"a",', ...unread("not valid JSON") },
      { name: "with single quotes", body: "{'channel':'a'}", ...unread("not valid JSON") },
      { name: "with two objects in a row", body: "{}{}", ...unread("not valid JSON") },
      {
        name: "with bytes that are not UTF-8",
        body: new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
        ...unread("UTF-8"),
      },
      { name: "nested without end", body: "[".repeat(500_000), ...unread("not valid JSON") },
      {
        name: "nested deeply in a tag",
        body: `{"channel":"a","name":"b","tags":{"x":${"[".repeat(400_000)}${"]".repeat(400_000)}}}`,
        status: 422,
        says: ["400,002 levels deep"],
      },
      {
        name: "as a page",
        headers: { "content-type": "text/html" },
        body: ok,
        status: 415,
        says: ["application/json", "text/html"],
      },
      {
        name: "as a form",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: "channel=a&name=b",
        status: 415,
      },
      {
        name: "as JSON of another name",
        headers: { "content-type": "application/jsonp" },
        body: ok,
        status: 415,
      },
      { name: "without a key", key: null, body: ok, status: 401, says: ["key-missing", "x-api-key"] },
      { name: "with an empty key", key: "", body: ok, status: 401 },
      {
        name: "with a key that is none",
        key: "secret",
        body: ok,
        status: 401,
        says: ["key-invalid", "mistyped"],
      },
      {
        name: "with a key of the right form that nobody has",
        key: "tdg_sk_0000000000000000000000000000003B4bAc",
        body: ok,
        status: 401,
      },
      {
        name: "with basic authorization",
        key: null,
        headers: { authorization: "Basic dDp0" },
        body: ok,
        status: 401,
        says: ["key-missing"],
      },
    ],
  );

  test("a hundred thousand unknown fields get a short message", async () => {
    const body = JSON.stringify({
      ...ok,
      ...Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`k${index}`, 1])),
    });
    const response = await send(app, { body: body.slice(0, limits.eventBytes) });
    expect([400, 413, 422]).toContain(response.status);
    expect((await response.text()).length).toBeLessThan(10_000);
  });

  test("with a mistyped key, and says so", async () => {
    for (const at of [10, 20, 40]) {
      const other = app.key[at] === "a" ? "b" : "a";
      const response = await app.post(ok, app.key.slice(0, at) + other + app.key.slice(at + 1));
      expect(response.status).toBe(401);
      expect(await response.text()).toContain("mistyped");
    }
  });

  test("with a revoked key, at once", async () => {
    const cookie = await app.signIn();
    const headers = { cookie, origin: app.address, "content-type": "application/json" };
    const created = await app.request("/api/keys", {
      method: "POST",
      headers,
      body: '{"name":"short-lived"}',
    });
    const { key, secret } = (await created.json()) as { key: { id: string }; secret: string };
    expect((await app.post(ok, secret)).status).toBe(201);
    await app.request(`/api/keys/${key.id}`, { method: "DELETE", headers });
    const rejected = await app.post(ok, secret);
    expect(rejected.status).toBe(401);
    expect(await rejected.text()).toContain("revoked");
  });

  test("and not stored", async () => {
    const before = (await app.list()).length;
    await app.post({ ...ok, tags: { a: 1 } });
    await send(app, { body: "{" });
    expect((await app.list()).length).toBe(before);
  });
});

describe("an id makes an event unique", () => {
  const newId = () => Bun.randomUUIDv7();

  test("sent again, it gets 200 and the stored event", async () => {
    const id = newId();
    const first = await app.post({ ...ok, id, tags: { n: "1" } });
    const second = await app.post({ ...ok, id, name: "Another name", tags: { n: "2" } });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(await second.text()).toBe(await first.text());
  });

  test("its case is ignored, and returned in lower case", async () => {
    const id = newId();
    expect((await app.post({ ...ok, id: id.toUpperCase() })).status).toBe(201);
    const again = await app.post({ ...ok, id });
    expect(again.status).toBe(200);
    expect(((await again.json()) as { event: Event }).event.id).toBe(id);
    expect((await app.request(`/api/events/${id.toUpperCase()}`)).status).toBe(200);
  });

  test("50 times concurrently creates one event and one 201", async () => {
    const id = newId();
    const channel = `race ${id}`;
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, n) => app.post({ channel, name: `attempt ${n}`, id })),
    );
    const statuses = responses.map((response) => response.status).sort();
    expect(statuses).toEqual([...Array<number>(49).fill(200), 201]);
    const bodies = await Promise.all(responses.map((response) => response.text()));
    expect(new Set(bodies).size).toBe(1);
    expect(await app.list(`?channel=${encodeURIComponent(channel)}`)).toHaveLength(1);
  });

  test("created by the server is known too", async () => {
    for (const more of [{}, { createdAt: "2026-01-31T10:30:00Z" }]) {
      const { event } = (await (await app.post({ ...ok, ...more })).json()) as { event: Event };
      const again = await app.post({ ...ok, id: event.id });
      expect(again.status).toBe(200);
      expect(((await again.json()) as { event: Event }).event).toEqual(event);
      const found = (await (await app.request(`/api/events/${event.id}`)).json()) as { event: Event };
      expect(found.event).toEqual(event);
    }
  });

  test("is dated, repeated and found like any other", async () => {
    const id = newId();
    const createdAt = "2026-01-31T10:30:00.000Z";
    expect((await app.post({ ...ok, id, createdAt })).status).toBe(201);
    expect((await app.post({ ...ok, id })).status).toBe(200);
    const { event } = (await (await app.request(`/api/events/${id}`)).json()) as { event: Event };
    expect(event).toMatchObject({ id, createdAt });
  });

  test("may exist in another project too", async () => {
    const other = await app.another("Ids", "ids@example.com");
    const id = newId();
    expect((await app.post({ ...ok, id, name: "mine" })).status).toBe(201);
    expect((await app.post({ ...ok, id, name: "theirs" }, other.secret)).status).toBe(201);
    expect((await app.list("?limit=1", other.secret))[0]).toMatchObject({ id, name: "theirs" });
    const { event } = (await (await app.post({ ...ok })).json()) as { event: Event };
    expect((await app.post({ ...ok, id: event.id, name: "theirs" }, other.secret)).status).toBe(201);
  });
});
