// @engines sqlite, postgres, clickhouse
// @long postgres
import { expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { openTestStore, type TestApp, testApp } from "../testing/test-app.ts";
import { ChannelNames, ProjectChannels } from "./project-channels.ts";

const event = (channel: string) => ({ channel, name: "n" });

/** A server whose project has this many channels, from `c0` on. */
async function appWithChannels(count: number): Promise<TestApp> {
  const app = await testApp();
  const store = await openTestStore(app.config);
  const rows = Array.from({ length: count }, (_, n) => ({
    projectId: 1,
    name: `c${n}`,
    icon: null,
    description: null,
    retentionDays: null,
    archivedAt: null,
    lastEventAt: null,
    createdAt: 0,
  }));
  await store.control.insertInto("channels").values(rows).execute();
  await store.close();
  return app;
}

test("a project has at most 1,000 channels; events for existing ones are still accepted", async () => {
  await using app = await appWithChannels(limits.channels - 2);
  const json = { "content-type": "application/json" };
  const make = (name: string) =>
    app.request("/api/channels", { method: "POST", headers: json, body: JSON.stringify({ name }) });
  const created = await Promise.all(["x0", "x1", "x2", "x3"].map(make));
  expect(created.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409]);
  expect(await created.find(({ status }) => status === 409)!.text()).toContain("Delete one");

  const rejected = await app.post(event("another"));
  expect(rejected.status).toBe(422);
  expect(await rejected.json()).toMatchObject({
    errors: [
      { pointer: "/channel", detail: expect.stringContaining("Use a tag instead, or delete channels") },
    ],
  });
  expect((await app.post(event("c7"))).status).toBe(201);
  const batch = await app.post([event("c1"), event("one"), event("two"), event("c2"), event("one")]);
  expect(await batch.json()).toMatchObject({ accepted: 2, rejected: 3 });
});

test("events of one request don't exceed the maximum number of channels", async () => {
  await using app = await appWithChannels(limits.channels - 3);
  const bodies = Array.from({ length: 50 }, (_, n) => event(`new ${n % 10}`));
  const answers = await Promise.all([app.post(bodies), app.post(bodies)]);
  const { channels } = (await (await app.request("/api/channels")).json()) as { channels: object[] };
  expect(channels).toHaveLength(limits.channels);
  for (const answer of answers) expect(await answer.json()).toMatchObject({ accepted: 15, rejected: 35 });
});

test("the names of a project with known channels only are read once a second, and after a change", async () => {
  await using app = await appWithChannels(2);
  const { control, ...store } = await openTestStore(app.config);
  let now = 0;
  const channels = new ProjectChannels(control, () => now);
  const project = { projectId: 1, knownChannelsOnly: true, mayRead: true };
  const isRejected = async (name: string) => {
    const names = await channels.of(project, [event(name)]);
    return names.rejectionOf(project, name) !== null;
  };
  expect(await isRejected("c0")).toBe(false);
  expect(await isRejected("c9")).toBe(true);
  await control.updateTable("channels").set({ name: "c9" }).where("name", "=", "c0").execute();
  now = 400;
  expect(channels.of(project, [event("c9")])).toBeInstanceOf(ChannelNames);
  expect(await isRejected("c9")).toBe(true);
  now = 1_000;
  expect(await isRejected("c9")).toBe(false);
  expect(await isRejected("c0")).toBe(true);
  await control.updateTable("channels").set({ name: "c0" }).where("name", "=", "c9").execute();
  expect(channels.of(project, [event("c0")])).toBeInstanceOf(ChannelNames);
  channels.invalidate(1);
  expect(await isRejected("c0")).toBe(false);
  await store.close();
});
