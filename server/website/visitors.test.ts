// @engines sqlite, postgres, clickhouse
// @long postgres
/** What the script of web pages sends: visitors, visits and tags, through HTTP. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Event } from "../event/event.ts";
import { serve } from "../serve.ts";
import { type TestApp, testApp, testPasswords } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import {
  behindProxy,
  bot,
  desktop,
  pageEvent,
  phone,
  sendPageEvents,
  websiteKey,
} from "../testing/website-visits.ts";

const minuteMs = 60_000;
/** A morning, so that tests stay within a day. */
const startMs = Date.UTC(2026, 10, 23, 9);

let app: TestApp;
let key: string;
let nowMs = startMs;

beforeAll(async () => {
  app = await testApp(behindProxy, () => nowMs);
  key = await websiteKey(app);
});
afterAll(() => app[Symbol.asyncDispose]());

/** Sends one event, and returns what was recorded. */
async function recorded(event: object, options: Parameters<typeof sendPageEvents>[3] = {}): Promise<Event> {
  const { id } = event as { id: string };
  const response = await sendPageEvents(app, key, [event], options);
  expect(response.status).toBe(204);
  expect(await response.text()).toBe("");
  const found = await app.request(`/api/events/${id}`);
  return ((await found.json()) as { event: Event }).event;
}

describe("events", () => {
  test("get tags of page, source and browser", async () => {
    const event = pageEvent({
      path: "/prices?utm_source=news&utm_campaign=spring&token=secret",
      referrer: "https://www.google.com/search?q=secret",
    });
    const { session, ...tags } = (await recorded(event)).tags;
    expect(session).toMatch(/^[0-9a-f]{16}$/);
    expect(tags).toEqual({
      path: "/prices",
      host: "shop.example.com",
      referrer: "google.com",
      source: "news",
      utm_source: "news",
      utm_campaign: "spring",
      entry: "true",
      device: "desktop",
      browser: "Chrome",
      os: "Windows",
      language: "de",
      country: "DE",
    });
  });

  test("have the channel, the time and the tags that the page says", async () => {
    const event = await recorded(
      {
        ...pageEvent({ name: "Signed up" }),
        age: 5_000,
        userId: 42,
        tags: { plan: "pro", path: "no", n: 3 },
      },
      { channel: "shop", userAgent: phone, address: "203.0.113.8" },
    );
    expect(event).toMatchObject({ channelId: "shop", name: "Signed up", userId: "42" });
    expect(event.createdAt).toBe(new Date(nowMs - 5_000).toISOString());
    expect(event.tags).toMatchObject({
      plan: "pro",
      n: "3",
      path: "/",
      device: "phone",
      browser: "Safari",
      os: "iOS",
    });
  });

  test("are recorded once, however often they are sent", async () => {
    const event = pageEvent({ path: "/once" });
    const first = await recorded(event);
    nowMs += 5_000;
    expect(await recorded({ ...event, age: 5_000 })).toEqual(first);
    expect(await app.list("?tag.path=/once")).toHaveLength(1);
  });

  test("of bots are marked", async () => {
    expect((await recorded(pageEvent(), { userAgent: bot })).tags.bot).toBe("true");
    expect((await recorded(pageEvent(), { userAgent: desktop })).tags).not.toHaveProperty("bot");
  });

  test("take their country from the time zone", async () => {
    const countryOf = async (timeZone: string, language: string) =>
      (await recorded(pageEvent(), { timeZone, language, address: `198.51.100.${timeZone.length}` })).tags
        .country;
    expect(await countryOf("Asia/Calcutta", "en-GB")).toBe("IN");
    expect(await countryOf("Asia/Kolkata", "en-GB")).toBe("IN");
    expect(await countryOf("UTC", "en-GB")).toBeUndefined();
    expect(await countryOf("No/Where", "xx")).toBeUndefined();
  });
});

describe("visitors", () => {
  const visitor = { address: "203.0.113.20" };

  test("are numbered by project, address, browser and site", async () => {
    const userIds = [
      await recorded(pageEvent(), visitor),
      await recorded(pageEvent(), visitor),
      await recorded(pageEvent(), { address: "203.0.113.21" }),
      await recorded(pageEvent(), { ...visitor, userAgent: phone }),
      await recorded({ ...pageEvent(), url: "https://blog.example.com/" }, visitor),
    ].map(({ userId }) => userId);
    expect(userIds[1]).toBe(userIds[0]!);
    expect(new Set(userIds).size).toBe(4);
    for (const userId of userIds) expect(userId).toMatch(/^visitor-[0-9a-f]{20}$/);
  });

  test("of two projects are apart, and so are their events", async () => {
    const other = await app.another("Other", "other@example.com");
    const otherKey = await websiteKey(app, other.slug);
    const own = await recorded(pageEvent(), visitor);
    const event = pageEvent();
    expect((await sendPageEvents(app, otherKey, [event], visitor)).status).toBe(204);
    const [theirs] = await app.list("", other.secret);
    expect(theirs!.id).toBe(event.id);
    expect(theirs!.userId).not.toBe(own.userId);
    expect(theirs!.tags.session).not.toBe(own.tags.session!);
    expect((await app.request(`/api/events/${event.id}`)).status).toBe(404);
  });

  test("can keep an ID of their own", async () => {
    const id = Bun.randomUUIDv7();
    expect((await recorded(pageEvent(), { visitor: id })).userId).toBe(`visitor-${id}`);
  });

  test("are other ones the next day, and the day's salt is deleted", async () => {
    const days = async () => {
      const rows = await app.running.store.control.selectFrom("websiteSalts").select("day").execute();
      return rows.map(({ day }) => day);
    };
    const before = await recorded(pageEvent(), visitor);
    expect(await days()).toEqual(["2026-11-23"]);
    nowMs += 24 * 60 * minuteMs;
    try {
      const after = await recorded(pageEvent(), visitor);
      expect(after.userId).not.toBe(before.userId);
      await app.restart();
      await until(async () => (await days()).join() === "2026-11-24");
      expect((await recorded(pageEvent(), visitor)).userId).toBe(after.userId);
    } finally {
      nowMs -= 24 * 60 * minuteMs;
    }
  });
});

describe("visits", () => {
  const visitor = { address: "203.0.113.30" };
  const visit = async (path: string) => (await recorded(pageEvent({ path }), visitor)).tags;

  test("go on for half an hour after each activity, over a restart", async () => {
    const first = await visit("/a");
    expect(first.entry).toBe("true");
    nowMs += 29 * minuteMs;
    const second = await visit("/b");
    expect(second.session).toBe(first.session!);
    expect(second).not.toHaveProperty("entry");
    await app.restart();
    nowMs += 29 * minuteMs;
    const third = await visit("/c");
    expect(third.session).toBe(first.session!);
    expect(third).not.toHaveProperty("entry");
    nowMs += 30 * minuteMs;
    const fourth = await visit("/d");
    expect(fourth.session).not.toBe(first.session!);
    expect(fourth.entry).toBe("true");
  });

  test("are kept going by what tells how long a page was read, and never begun", async () => {
    const read = async () => {
      const engagement = pageEvent({ name: "Engagement", path: "/a", tags: { seconds: 60 } });
      return (await recorded(engagement, visitor)).tags.session;
    };
    const first = await visit("/a");
    nowMs += 29 * minuteMs;
    expect(await read()).toBe(first.session!);
    nowMs += 29 * minuteMs;
    expect((await visit("/b")).session).toBe(first.session!);
    nowMs += 30 * minuteMs;
    expect(await read()).toBe(first.session!);
    expect((await visit("/c")).session).not.toBe(first.session!);
  });

  test("begin once, whatever comes at the same time", async () => {
    const address = "203.0.113.31";
    const events = Array.from({ length: 20 }, (_, index) => pageEvent({ path: `/${index}` }));
    await Promise.all(events.map((event) => sendPageEvents(app, key, [event], { address })));
    const found = (await app.list()).filter(({ id }) => events.some((event) => event.id === id));
    expect(new Set(found.map(({ tags }) => tags.session)).size).toBe(1);
    expect(found.filter(({ tags }) => tags.entry === "true")).toHaveLength(1);
  });

  test("go on at another node", async () => {
    if (app.config.databaseUrl === null) return;
    const node = await serve(app.config, { passwords: testPasswords, now: () => nowMs });
    try {
      const address = "203.0.113.32";
      const [here, there] = [pageEvent(), pageEvent()];
      await sendPageEvents(app, key, [here], { address });
      await sendPageEvents(node, key, [there], { address });
      const events = (await app.list()).filter(({ id }) => id === here.id || id === there.id);
      expect(new Set(events.map(({ tags }) => tags.session)).size).toBe(1);
      expect(new Set(events.map(({ userId }) => userId)).size).toBe(1);
      // The second view comes from the site itself, so a second entry would be a visit without a source.
      expect(events.filter(({ tags }) => tags.entry === "true").map(({ id }) => id)).toEqual([here.id]);
    } finally {
      await node.stop();
    }
  });

  test("keep their entry if it is sent again, because the first time failed", async () => {
    const address = "203.0.113.33";
    const event = pageEvent({ path: "/first" });
    const { control } = app.running.store;
    const { id: projectId } = await control.selectFrom("projects").select("id").executeTakeFirstOrThrow();
    const setQuota = (eventsPerDay: number | null) =>
      control.updateTable("projects").set({ eventsPerDay }).where("id", "=", projectId).execute();
    await setQuota(0);
    await app.restart();
    expect((await sendPageEvents(app, key, [event], { address })).status).toBe(429);
    await app.running.store.control.updateTable("projects").set({ eventsPerDay: null }).execute();
    await app.restart();
    const { tags } = await recorded(event, { address });
    expect(tags).toMatchObject({ entry: "true", source: "Direct" });
    expect((await recorded(pageEvent({ path: "/second" }), { address })).tags).not.toHaveProperty("entry");
  });

  test("are entered with their first view, also after another event", async () => {
    const address = "203.0.113.34";
    const first = await recorded(pageEvent({ name: "Signed up" }), { address });
    expect(first.tags).not.toHaveProperty("entry");
    const second = await recorded(pageEvent(), { address });
    expect(second.tags).toMatchObject({ entry: "true", session: first.tags.session });
  });

  test("are erased with their visitor, and don't come back", async () => {
    const address = "203.0.113.35";
    const { userId } = await recorded(pageEvent(), { address });
    const sessions = () =>
      app.running.store.control
        .selectFrom("websiteVisits")
        .select("session")
        .where("visitor", "=", userId!.slice("visitor-".length))
        .execute();
    expect(await sessions()).toHaveLength(1);
    // Its activity waits to be saved.
    nowMs += minuteMs;
    await recorded(pageEvent({ name: "Engagement" }), { address });
    const response = await app.request(`/api/users/${userId}`, { method: "DELETE" });
    expect(response.status).toBe(202);
    await until(async () => (await sessions()).length === 0);
    await app.restart();
    expect(await sessions()).toEqual([]);
  });

  test("are forgotten when they are over for long", async () => {
    await visit("/a");
    const { control } = app.running.store;
    const count = async () => (await control.selectFrom("websiteVisits").select("visitor").execute()).length;
    expect(await count()).toBeGreaterThan(0);
    const daysMs = 2 * 24 * 60 * minuteMs;
    nowMs += daysMs;
    try {
      await app.restart();
      await until(async () => {
        const rows = await app.running.store.control.selectFrom("websiteVisits").select("visitor").execute();
        return rows.length === 0;
      });
    } finally {
      nowMs -= daysMs;
      await app.restart();
    }
  });
});
