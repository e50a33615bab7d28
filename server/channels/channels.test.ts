// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Channel } from "../schemas/channel.ts";
import type { Job } from "../schemas/job.ts";
import { pathSegment } from "../schemas/path-segment.ts";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const path = "/api/channels";
const list = async () => ((await (await app.request(path)).json()) as { channels: Channel[] }).channels;

scenarios(
  () => app,
  [
    { name: "a project begins without channels", path, status: 200, holds: { ok: true, channels: [] } },
    {
      name: "a channel is made with an icon",
      path,
      body: { name: "payments", icon: "💰" },
      status: 201,
      holds: {
        ok: true,
        channel: { id: "payments", name: "payments", icon: "💰", events: 0, lastEventAt: null },
      },
    },
    { name: "a channel is made without an icon", path, body: { name: "支払い" }, status: 201 },
    { name: "a name of another case is another channel", path, body: { name: "Payments" }, status: 201 },
    {
      name: "the same name again is a conflict that names it",
      path,
      body: { name: "payments" },
      status: 409,
      says: ["channel-exists", "payments"],
    },
    { name: "a channel needs a name", path, body: {}, status: 422, says: ["/name", "missing"] },
    { name: "a blank name is rejected", path, body: { name: " " }, status: 422, says: ["blank"] },
    {
      name: "a name of 65 characters is rejected",
      path,
      body: { name: "x".repeat(65) },
      status: 422,
      says: ["at most 64"],
    },
    { name: "a control character is rejected", path, body: { name: "a\nb" }, status: 422, says: ["U+000A"] },
    {
      name: "an unknown member is rejected, with an escaped pointer",
      path,
      body: { name: "x", "a/b~c": 1 },
      status: 422,
      says: ['"/a~1b~0c"'],
    },
    { name: "an unknown parameter is rejected", path: `${path}?limit=1`, status: 400 },
    {
      name: "a channel is made with a description",
      path,
      body: { name: "described", description: "Money that\ncame in" },
      status: 201,
      holds: { channel: { description: "Money that\ncame in", retentionDays: null, archivedAt: null } },
    },
    {
      name: "a description of 1,001 characters is rejected",
      path,
      body: { name: "long", description: "x".repeat(1_001) },
      status: 422,
      says: ["/description", "at most 1,000"],
    },
    {
      name: "another content type is rejected",
      path,
      headers: { "content-type": "text/plain" },
      body: "{}",
      status: 415,
    },
    { name: "a body above 64 kB is rejected", path, body: { name: "x".repeat(70_000) }, status: 413 },
  ],
);

describe("a channel counts its events", () => {
  test("with the time of the newest, also if it was created before its first event", async () => {
    await app.request(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"name":"counted","icon":"🔢"}',
    });
    await app.post({ channel: "counted", name: "old", createdAt: "2026-01-31T00:00:00Z" });
    await app.post({ channel: "counted", name: "new", createdAt: "2026-02-01T00:00:00Z" });
    await app.post({ channel: "counted", name: "older", createdAt: "2026-01-01T00:00:00Z" });
    expect((await list()).find(({ id }) => id === "counted")).toMatchObject({
      icon: "🔢",
      events: 3,
      lastEventAt: "2026-02-01T00:00:00.000Z",
    });
  });

  test("and is listed by name, numbers by their value", async () => {
    for (const name of ["102", "12", "2", "0", "1", "v10", "v9"])
      await app.post({ channel: name, name: "n" });
    const names = (await list()).map(({ name }) => name);
    expect(names.filter((name) => /^v?\d+$/.test(name))).toEqual(["0", "1", "2", "12", "102", "v9", "v10"]);
    const collator = new Intl.Collator("en", { numeric: true });
    expect(names).toEqual(names.toSorted(collator.compare));
    const sidebar = await app.request("/api/sidebar?project=default", {
      headers: { cookie: await app.signIn(), origin: app.address },
    });
    const { channels } = (await sidebar.json()) as { channels: Channel[] };
    expect(channels.map(({ name }) => name)).toEqual(names);
  });

  test("and is created once by 50 concurrent events", async () => {
    const responses = await Promise.all(
      Array.from({ length: 50 }, () =>
        app.request(path, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: '{"name":"race"}',
        }),
      ),
    );
    expect(responses.map(({ status }) => status).toSorted()).toEqual([201, ...Array<number>(49).fill(409)]);
  });
});

describe("a channel is changed", () => {
  const change = (name: string, body: unknown) =>
    app.request(`${path}/${encodeURIComponent(name)}`, {
      method: "PATCH",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const changed = async (name: string, body: unknown) => {
    const response = await change(name, body);
    expect(`${response.status} ${response.ok ? "" : await response.text()}`).toBe("200 ");
    return ((await response.json()) as { channel: Channel }).channel;
  };

  test("only in the fields that are sent; null removes a value", async () => {
    await app.post({ channel: "a/b %? 💰", name: "n" });
    const all = { icon: "📬", description: "Mail", retentionDays: 30 };
    expect(await changed("a/b %? 💰", all)).toMatchObject({ id: "a/b %? 💰", events: 1, ...all });
    expect(await changed("a/b %? 💰", { retentionDays: 3_650 })).toMatchObject({
      ...all,
      retentionDays: 3_650,
    });
    const bare = await changed("a/b %? 💰", { icon: null, description: null, retentionDays: null });
    expect(bare).toMatchObject({ retentionDays: null, archivedAt: null });
    expect(bare).not.toHaveProperty("icon");
    expect(bare).not.toHaveProperty("description");
    expect((await list()).find(({ id }) => id === "a/b %? 💰")).toEqual(bare);
  });

  test("to archived and back; it still records events and stays archived", async () => {
    await app.post({ channel: "old", name: "n" });
    const { archivedAt } = await changed("old", { archived: true });
    expect(archivedAt).toBeString();
    await app.post({ channel: "old", name: "n" });
    expect(await changed("old", { archived: true })).toMatchObject({ archivedAt, events: 2 });
    const names = async (query: string) => {
      const { channels } = (await (await app.request(path + query)).json()) as { channels: Channel[] };
      return channels.map(({ name }) => name);
    };
    expect(await names("?archived=true")).toEqual(["old"]);
    expect(await names("?archived=false")).not.toContain("old");
    expect(await names("")).toContain("old");
    expect(await changed("old", { archived: false })).toMatchObject({ archivedAt: null });
  });

  test("by a member too", async () => {
    await app.post({ channel: "members", name: "n" });
    const response = await app.request(`${path}/members`, {
      method: "PATCH",
      headers: { "content-type": "application/json", cookie: await app.signIn(), origin: app.address },
      body: '{"icon":"👋"}',
    });
    expect(await response.json()).toMatchObject({ ok: true, channel: { icon: "👋" } });
  });

  test("to show some tags first, in an order, once each", async () => {
    await app.post({ channel: "tagged", name: "n", tags: { amount: "1", reason: "x" } });
    expect((await list()).find(({ id }) => id === "tagged")).toMatchObject({ firstTags: [] });
    const firstTags = ["reason", "plan, old", "amount"];
    expect(await changed("tagged", { firstTags: [...firstTags, "reason"] })).toMatchObject({ firstTags });
    expect(await changed("tagged", { icon: "💳" })).toMatchObject({ firstTags });
    expect((await list()).find(({ id }) => id === "tagged")).toMatchObject({ firstTags });
    // What is stored and listed of the event stays as it was sent.
    const { events } = (await (await app.request("/api/events?channel=tagged")).json()) as {
      events: { tags: object }[];
    };
    expect(Object.keys(events[0]!.tags)).toEqual(["amount", "reason"]);
    expect(await changed("tagged", { firstTags: [] })).toMatchObject({ firstTags: [] });
  });

  const rejections: [name: string, body: unknown, says: string][] = [
    ["a tag that isn't a text", { firstTags: [1] }, "/firstTags/0"],
    ["a blank tag", { firstTags: [" "] }, "blank"],
    ["one tag instead of an array", { firstTags: "reason" }, "must be an array of tags"],
    ["eleven tags", { firstTags: Array.from({ length: 11 }, (_, n) => `t${n}`) }, "at most 10 tags"],
    ["nothing", {}, "changes nothing"],
    ["half a day", { retentionDays: 1.5 }, "/retentionDays"],
    ["no days", { retentionDays: 0 }, "at least 1"],
    ["eleven years", { retentionDays: 4_000 }, "at most 3,650"],
    ["a text for archived", { archived: "yes" }, "must be true or false"],
    ["another name", { name: "renamed" }, "Unknown field"],
    ["an icon too long", { icon: "x".repeat(65) }, "at most 64"],
  ];
  for (const [name, body, says] of rejections) {
    test(`but not to ${name}`, async () => {
      const response = await change("payments", body);
      const text = await response.text();
      expect(`${response.status} ${text}`).toStartWith("422 ");
      expect(text).toContain(says);
    });
  }

  test("by any name that it can have, also one that paths lose", async () => {
    for (const name of [
      ".",
      "..",
      "~.",
      "~~..",
      "...",
      "%2e%2e",
      "a/../b",
      "\\",
      "?",
      "#",
      "%",
      "%25",
      "~",
    ]) {
      expect((await app.post({ channel: name, name: "n" })).status).toBe(201);
      const own = `${path}/${pathSegment(name)}`;
      const headers = { "content-type": "application/json" };
      const changed = await app.request(own, { method: "PATCH", headers, body: '{"retentionDays":7}' });
      expect(((await changed.json()) as { channel: Channel }).channel).toMatchObject({
        name,
        retentionDays: 7,
      });
      const deleted = await app.request(own, { method: "DELETE" });
      const { job } = (await deleted.json()) as { job: Job };
      expect(deleted.status).toBe(202);
      const isDone = async () =>
        ((await (await app.request(`/api/jobs/${job.id}`)).json()) as { job: Job }).job.state === "done";
      await until(isDone);
      expect((await list()).map(({ name }) => name)).not.toContain(name);
    }
  });

  test("but not if it doesn't exist", async () => {
    const response = await change("nowhere", { archived: true });
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("channel-unknown");
  });
});
