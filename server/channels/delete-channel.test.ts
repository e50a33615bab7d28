// @engines sqlite, postgres, clickhouse
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Event } from "../event/event.ts";
import type { Channel } from "../schemas/channel.ts";
import { expectConsistent } from "../testing/consistency.ts";
import { effort } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { untilJobDone } from "../testing/until.ts";

const remove = (app: TestApp, path: string, headers: Record<string, string> = {}) =>
  app.request(path, { method: "DELETE", headers });

async function posted(app: TestApp, event: object, key?: string): Promise<Event> {
  const response = await app.post(event, key);
  if (response.status !== 201) throw new Error(`Got ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { event: Event }).event;
}

async function channels(app: TestApp): Promise<Pick<Channel, "name" | "events" | "lastEventAt">[]> {
  const { channels } = (await (await app.request("/api/channels")).json()) as { channels: Channel[] };
  return channels.map(({ name, events, lastEventAt }) => ({ name, events, lastEventAt }));
}

test("a deleted event is gone and can be sent again", async () => {
  await using app = await testApp();
  const sent = { channel: "c", name: "n", id: Bun.randomUUIDv7(), createdAt: "2026-01-31T10:30:00.000Z" };
  const created = await posted(app, { channel: "c", name: "n", notify: true });
  const dated = await posted(app, { channel: "c", name: "n", createdAt: "2026-01-30T10:30:00Z" });
  await posted(app, sent);
  for (const id of [created.id, sent.id.toUpperCase()]) {
    expect((await remove(app, `/api/events/${id}`)).status).toBe(200);
    expect((await remove(app, `/api/events/${id}`)).status).toBe(404);
    expect((await app.request(`/api/events/${id}`)).status).toBe(404);
  }
  expect(await app.list()).toEqual([dated]);
  expect(await channels(app)).toEqual([{ name: "c", events: 1, lastEventAt: dated.createdAt }]);
  await expectConsistent(app.config);
  expect((await remove(app, `/api/events/${dated.id}`)).status).toBe(200);
  expect(await channels(app)).toEqual([{ name: "c", events: 0, lastEventAt: null }]);
  await posted(app, sent);
  await expectConsistent(app.config);
  for (const id of ["none", Bun.randomUUIDv7()]) {
    expect((await remove(app, `/api/events/${id}`)).status).toBe(404);
  }
});

test("a deleted channel loses its events and reappears with the next one", async () => {
  await using app = await testApp();
  await Promise.all(
    Array.from({ length: 450 }, (_, n) =>
      app.post({ channel: n % 3 ? "go away" : "stay", name: `n${n % 4}` }),
    ),
  );
  const job = await untilJobDone(app, await remove(app, "/api/channels/go%20away"));
  expect(job).toMatchObject({ kind: "delete-channel", total: 300, receipt: { erasedEvents: 300 } });
  expect(await channels(app)).toMatchObject([{ name: "stay", events: 150 }]);
  await expectConsistent(app.config);
  expect((await remove(app, "/api/channels/go%20away")).status).toBe(404);
  await posted(app, { channel: "go away", name: "n" });
  expect(await channels(app)).toMatchObject([{ name: "go away", events: 1 }, { name: "stay" }]);
});

test("a deleted project is inaccessible at once, and its slug is free", async () => {
  await using app = await testApp();
  const owner = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  const other = await app.another("Other", "other@example.com");
  const kept = await posted(app, { channel: "c", name: "kept" }, other.secret);
  for (let n = 0; n < 3; n++) await posted(app, { channel: "c", name: "gone", notify: true });
  using stream = await openStream(app, "", { "x-api-key": app.key });
  await stream.next("ready");

  for (const query of ["", "?confirm=", "?confirm=Default", "?confirm=default&x=1"]) {
    expect((await remove(app, `/api/projects/default${query}`, owner)).status).toBe(400);
  }
  const path = "/api/projects/default?confirm=default";
  expect((await remove(app, path)).status).toBe(403);
  const response = await remove(app, path, owner);
  expect((await app.post({ channel: "c", name: "late" })).status).toBe(401);
  expect(await stream.next("end")).toBeNull();
  expect(await (await app.request("/api/projects", { headers: owner })).json()).toEqual({
    ok: true,
    projects: [],
  });
  expect((await remove(app, path, owner)).status).toBe(404);
  expect(await untilJobDone(app, response, { headers: owner })).toMatchObject({
    kind: "delete-project",
    receipt: { erasedEvents: 3 },
  });
  const created = await app.request("/api/projects", {
    method: "POST",
    headers: owner,
    body: JSON.stringify({ name: "Default" }),
  });
  expect(await created.json()).toMatchObject({ project: { slug: "default" } });
  expect(await app.list("", other.secret)).toEqual([kept]);
  await expectConsistent(app.config);
});

test("only its owner can delete a project", async () => {
  await using app = await testApp();
  const other = await app.another("Other", "other@example.com");
  await app.addMember("admin@example.com", "admin", other.slug);
  const headers = { cookie: await app.signIn("admin@example.com"), origin: app.address };
  const response = await remove(app, `/api/projects/${other.slug}?confirm=${other.slug}`, headers);
  expect([response.status, await response.text()]).toEqual([
    403,
    expect.stringContaining("This needs the role owner: delete the project"),
  ]);
});

const channel = fc.constantFrom("a", "b");
const userId = fc.constantFrom("", "u1", "u2");
const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("post" as const),
      channel,
      userId,
      name: fc.constantFrom("n", "m"),
      daysAgo: fc.option(fc.integer({ min: 0, max: 20 })),
      withId: fc.boolean(),
      count: fc.integer({ min: 1, max: 130 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("delete" as const), place: fc.nat() }) },
  fc.record({ kind: fc.constant("erase" as const), userId: fc.constantFrom("u1", "u2") }),
  fc.record({ kind: fc.constant("channel" as const), channel }),
  fc.record({ kind: fc.constant("expire" as const), days: fc.integer({ min: 1, max: 15 }) }),
);

test(
  "counters, channels and index match the rows after any posts, deletions, erasures and expiry",
  async () => {
    await using app = await testApp();
    const owner = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
    const dayMs = 86_400_000;
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 12 }), async (actions) => {
        for (const each of actions) {
          if (each.kind === "post") {
            const { channel, userId, name, daysAgo, withId, count } = each;
            await Promise.all(
              Array.from({ length: count }, (_, n) =>
                posted(app, {
                  channel,
                  userId,
                  name,
                  tags: { n: `${n % 3}` },
                  ...(daysAgo !== null && { createdAt: Date.now() - daysAgo * dayMs }),
                  ...(withId && { id: Bun.randomUUIDv7() }),
                }),
              ),
            );
          } else if (each.kind === "delete") {
            const events = await app.list();
            const event = events[each.place % Math.max(events.length, 1)];
            if (event) expect((await remove(app, `/api/events/${event.id}`)).status).toBe(200);
          } else if (each.kind === "erase") {
            const { receipt } = await untilJobDone(app, await remove(app, `/api/users/${each.userId}`));
            expect(receipt).not.toBeNull();
            expect(await app.list(`?userId=${each.userId}`)).toEqual([]);
          } else if (each.kind === "channel") {
            const response = await remove(app, `/api/channels/${each.channel}`);
            if (response.status === 404) continue;
            await untilJobDone(app, response);
            expect(await app.list(`?channel=${each.channel}`)).toEqual([]);
          } else {
            const keep = (retentionDays: number | null) =>
              app.request("/api/projects/default", {
                method: "PATCH",
                headers: owner,
                body: JSON.stringify({ retentionDays }),
              });
            await keep(each.days);
            const to = new Date(Date.now() - each.days * dayMs).toISOString();
            while ((await app.list(`?to=${to}`)).length > 0) await Bun.sleep(10);
            await keep(null);
          }
        }
        await expectConsistent(app.config);
      }),
      { numRuns: effort(4, 40) },
    );
  },
  effort(60_000, 600_000),
);
