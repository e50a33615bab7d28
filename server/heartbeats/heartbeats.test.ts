// @engines sqlite, postgres
// @long postgres
/** Heartbeats through HTTP, as jobs ping them and people watch them, under a clock that the test moves. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Problem } from "../core/problems.ts";
import type { AuditEntry } from "../schemas/audit.ts";
import type { Heartbeat, HeartbeatPing, NewHeartbeat } from "../schemas/heartbeat.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

const minute = 60_000;

let app: TestApp;
/** How far the server's clock is ahead. */
let aheadMs = 0;
const realNow = Date.now;
beforeAll(async () => {
  Date.now = () => realNow() + aheadMs;
  app = await testApp({}, () => Date.now());
});
afterAll(async () => {
  Date.now = realNow;
  await app?.[Symbol.asyncDispose]();
});

let waker: string | undefined;
/** Lets time pass, and the server notice, because of a ping of another heartbeat. */
async function pass(minutes: number): Promise<void> {
  waker ??= new URL((await create()).url).pathname;
  aheadMs += minutes * minute;
  expect(await ping(`${app.address}${waker}/log`)).toEqual([200, "OK"]);
}

async function call<Result>(method: string, path: string, body?: unknown, status = 200): Promise<Result> {
  const response = await app.request(`/api/heartbeats${path}`, {
    method,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    }),
  });
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith(`${status} `);
  return JSON.parse(text) as Result;
}

let names = 0;
async function create(change: Partial<NewHeartbeat> = {}): Promise<{ heartbeat: Heartbeat; url: string }> {
  const schedule = { type: "period", minutes: 60 };
  return call("POST", "", { name: `Job ${++names}`, schedule, graceMinutes: 10, ...change }, 201);
}
const get = async (id: string) => (await call<{ heartbeat: Heartbeat }>("GET", `/${id}`)).heartbeat;
const pingsOf = async (id: string) => (await call<{ pings: HeartbeatPing[] }>("GET", `/${id}/pings`)).pings;

/** Pings, and returns the status and the text. */
async function ping(url: string, init: RequestInit = {}): Promise<[number, string]> {
  const response = await fetch(url, init);
  return [response.status, await response.text()];
}

/** The events of a heartbeat, oldest first, once there are so many. */
async function eventsOf({ slug }: Heartbeat, count: number, q = "") {
  const query = `?q=${encodeURIComponent(`heartbeat="${slug}" ${q}`)}`;
  await until(async () => (await app.list(query)).length >= count);
  const events = await app.list(query);
  return events.toReversed();
}

describe("a ping", () => {
  test("is answered with OK, kept, and an event", async () => {
    const { heartbeat, url } = await create({ name: "Nightly backup", channel: "ops" });
    expect(heartbeat).toMatchObject({ slug: "nightly-backup", state: "new", nextDueAt: null });
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([200, "OK"]);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.getSetCookie()).toEqual([]);
    const pinged = await get(heartbeat.id);
    expect(pinged.state).toBe("up");
    expect(Date.parse(pinged.nextDueAt!) - Date.parse(pinged.lastPingAt!)).toBe(60 * minute);
    expect(await pingsOf(heartbeat.id)).toMatchObject([{ kind: "success", exitStatus: null, body: null }]);
    const [event] = await eventsOf(heartbeat, 1);
    expect(event).toMatchObject({
      name: "Nightly backup: success",
      channelId: "ops",
      notify: false,
      tags: { heartbeat: "nightly-backup", ping: "success" },
      createdAt: pinged.lastPingAt,
    });
  });

  test("says what happened by the end of its address, with GET, HEAD and POST", async () => {
    const { heartbeat, url } = await create();
    expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
    for (const end of ["start", "fail", "log", "0", "3"])
      expect(await ping(`${url}/${end}`, { method: "POST", body: `body of ${end}` })).toEqual([200, "OK"]);
    expect(
      (await pingsOf(heartbeat.id)).map(({ kind, exitStatus, body }) => [kind, exitStatus, body]),
    ).toEqual([
      ["fail", 3, "body of 3"],
      ["success", 0, "body of 0"],
      ["log", null, "body of log"],
      ["fail", null, "body of fail"],
      ["start", null, "body of start"],
      ["success", null, null],
    ]);
    const pings = await eventsOf(heartbeat, 6, "-notify:true");
    expect(pings.at(-1)).toMatchObject({
      tags: { ping: "fail", exitStatus: "3" },
      description: "```\nbody of 3\n```",
    });
    for (const end of ["stop", "256", "-1", "00000"]) {
      const [status, text] = await ping(`${url}/${end}`);
      expect([end, status, text]).toEqual([end, 404, expect.stringContaining("exit status from 0 to 255")]);
    }
    expect((await ping(`${url}?rid=1`))[0]).toBe(400);
  });

  test("keeps the beginning of a long body, whatever it is", async () => {
    const { heartbeat, url } = await create();
    expect(await ping(url, { method: "POST", body: "é\u0000".repeat(200_000) })).toEqual([200, "OK"]);
    const [kept] = await pingsOf(heartbeat.id);
    expect(kept!.body!.length).toBeGreaterThan(3_000);
    expect(kept!.body).toMatch(/^é+$/);
    const bytes = new Uint8Array(20_000).map((_, index) => index % 256);
    expect(await ping(url, { method: "POST", body: bytes })).toEqual([200, "OK"]);
    expect(await ping(url, { method: "POST", body: "```\n".repeat(5_000) })).toEqual([200, "OK"]);
    const events = await eventsOf(heartbeat, 3);
    expect(events[2]!.description).toStartWith("````\n```\n");
    expect([...events[2]!.description!].length).toBeLessThanOrEqual(limits.descriptionCharacters);
  });

  test("at an unknown address is told what to do", async () => {
    const response = await fetch(`${app.address}/ping/AAAAAAAAAAAAAAAAAAAAAA`);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      404,
      "text/plain; charset=utf-8",
    ]);
    expect(await response.text()).toContain("Copy the address");
  });

  test("after too many is refused for a while, and only the last are kept", async () => {
    const { heartbeat, url } = await create();
    const other = await create();
    const all = await Promise.all(Array.from({ length: limits.pingsPerMinute + 5 }, () => fetch(url)));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(limits.pingsPerMinute);
    const refused = all.find(({ status }) => status === 429)!;
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await ping(other.url)).toEqual([200, "OK"]);
    expect(await pingsOf(heartbeat.id)).toHaveLength(limits.pingsPerMinute);
    const { control } = app.running.store;
    const many = Array.from({ length: limits.pings }, () => ({
      heartbeatId: other.heartbeat.id,
      kind: "log" as const,
      exitStatus: null,
      runMs: null,
      body: null,
      receivedAt: 0,
    }));
    await control.insertInto("heartbeatPings").values(many).execute();
    await ping(other.url);
    const rows = await control
      .selectFrom("heartbeatPings")
      .select("kind")
      .where("heartbeatId", "=", other.heartbeat.id)
      .orderBy("id", "desc")
      .execute();
    expect([rows.length, rows[0]!.kind]).toEqual([limits.pings, "success"]);
  });
});

describe("a run", () => {
  test("has a duration from its start to its end, also if runs overlap", async () => {
    const { heartbeat, url } = await create();
    const [a, b] = [crypto.randomUUID(), crypto.randomUUID()];
    await ping(`${url}/start?rid=${a}`);
    expect((await get(heartbeat.id)).state).toBe("started");
    await pass(10);
    await ping(`${url}/start?rid=${b}`);
    await pass(5);
    await ping(`${url}?rid=${a}`);
    expect((await get(heartbeat.id)).state).toBe("started");
    await pass(1);
    await ping(`${url}/7?rid=${b.toUpperCase()}`);
    const [second, first] = await pingsOf(heartbeat.id);
    // The clock that passes also runs, so on a busy machine some seconds are added.
    const minutes = (seconds: unknown) => Math.floor(Number(seconds) / 60);
    expect([minutes(first!.seconds), minutes(second!.seconds)]).toEqual([15, 6]);
    const [, , success] = await eventsOf(heartbeat, 5);
    expect(minutes(success!.tags.seconds)).toBe(15);
  });

  test("that takes too long is down, until it ends", async () => {
    const { heartbeat, url } = await create({ maxMinutes: 5 });
    await ping(`${url}/start`);
    await pass(6);
    const [, down] = await eventsOf(heartbeat, 2);
    expect(down).toMatchObject({ tags: { state: "down", reason: "running too long" } });
    expect(down!.description).toContain("has not ended within 5 min");
    await ping(url);
    expect((await eventsOf(heartbeat, 4)).at(-1)!.name).toEndWith("is up again");
  });
});

describe("a change of state", () => {
  test("is an event that notifies, once", async () => {
    const { heartbeat, url } = await create({ name: "Report" });
    await ping(url);
    await pass(65);
    await until(async () => (await get(heartbeat.id)).state === "late");
    await pass(10);
    const [down] = await eventsOf(heartbeat, 1, "state=down");
    expect(down).toMatchObject({
      name: "Report is down",
      notify: true,
      tags: { heartbeat: "report", state: "down", reason: "late" },
    });
    expect(down!.description).toContain("with a grace of 10 min");
    expect(await get(heartbeat.id)).toMatchObject({ state: "down", reason: "late", nextDueAt: null });
    await pass(200);
    await ping(`${url}/fail`);
    await pass(20);
    await ping(url);
    const events = await eventsOf(heartbeat, 5);
    expect(events.map(({ name }) => name)).toEqual([
      "Report: success",
      "Report is down",
      "Report: fail",
      "Report: success",
      "Report is up again",
    ]);
    expect(events[4]).toMatchObject({ notify: true, tags: { state: "up" } });
    expect(Number(events[4]!.tags.downSeconds)).toBeGreaterThan(220 * 60);
    // The rule that every project begins with announces both.
    const { control } = app.running.store;
    await until(
      async () =>
        (
          await control
            .selectFrom("deliveries")
            .select("id")
            .where("eventId", "in", [events[1]!.id, events[4]!.id])
            .execute()
        ).length >= 2,
    );
  });

  test("by a failure has what the job wrote", async () => {
    const { heartbeat, url } = await create();
    await ping(`${url}/2`, { method: "POST", body: "disk full" });
    const [down] = await eventsOf(heartbeat, 1, "state=down");
    expect(down).toMatchObject({
      tags: { reason: "failed" },
      description: "Its exit status was 2.\n\n```\ndisk full\n```",
    });
  });

  test("waits after the server was down for pings that may still come", async () => {
    const [late, saved] = [await create(), await create()];
    await Promise.all([ping(late.url), ping(saved.url)]);
    await eventsOf(saved.heartbeat, 1);
    aheadMs += 71 * minute;
    await app.restart();
    const address = (url: string) => url.replace(/^http:\/\/[^/]+/, app.address);
    await ping(address(saved.url));
    await pass(4);
    await ping(address(saved.url));
    expect((await get(late.heartbeat.id)).state).toBe("late");
    await pass(2);
    expect(await eventsOf(late.heartbeat, 2)).toMatchObject([{}, { tags: { state: "down" } }]);
    expect((await eventsOf(saved.heartbeat, 3)).map(({ tags }) => tags.state)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("doesn't come while it is paused, and resuming begins anew", async () => {
    const { heartbeat, url } = await create();
    await ping(url);
    await call("PATCH", `/${heartbeat.id}`, { enabled: false });
    await pass(500);
    await ping(`${url}/fail`);
    expect(await get(heartbeat.id)).toMatchObject({ state: "paused", nextDueAt: null });
    await call("PATCH", `/${heartbeat.id}`, { enabled: true });
    expect((await get(heartbeat.id)).state).toBe("up");
    await pass(71);
    expect((await eventsOf(heartbeat, 3)).map(({ tags }) => tags.state ?? tags.ping)).toEqual([
      "success",
      "fail",
      "down",
    ]);
  });

  test("is recorded beyond the daily quota, and events of pings are not", async () => {
    const { heartbeat, url } = await create();
    const { control } = app.running.store;
    // Events of earlier pings would take the day's only one.
    await until(
      async () => (await control.selectFrom("heartbeatEvents").select("id").limit(1).execute()).length === 0,
    );
    await control.updateTable("projects").set({ eventsPerDay: 1 }).execute();
    try {
      await ping(`${url}/log`);
      await ping(`${url}/fail`);
      expect((await eventsOf(heartbeat, 2)).map(({ tags }) => tags.state ?? tags.ping)).toEqual([
        "log",
        "down",
      ]);
    } finally {
      await control.updateTable("projects").set({ eventsPerDay: null }).execute();
    }
  });
});

describe("by slug with an API key", () => {
  const at = (path: string, key = app.key) => `${app.address}/ping/${key}/${path}`;

  test("a heartbeat is pinged, and created if asked for", async () => {
    const [status, text] = await ping(at("rotate-logs"));
    expect([status, text]).toEqual([404, expect.stringContaining("?create=1")]);
    expect(text).not.toContain(app.key);
    expect((await ping(at("rotate-logs/stop?create=1")))[0]).toBe(404);
    expect(await ping(at("rotate-logs/start?create=1"))).toEqual([201, "OK"]);
    expect(await ping(at("rotate-logs?create=1"))).toEqual([200, "OK"]);
    expect(await ping(at("rotate-logs/log"), { method: "POST", body: "x" })).toEqual([200, "OK"]);
    const { heartbeats } = await call<{ heartbeats: Heartbeat[] }>("GET", "");
    expect(heartbeats.find(({ slug }) => slug === "rotate-logs")).toMatchObject({
      name: "rotate-logs",
      channel: "heartbeats",
      schedule: { type: "period", minutes: 1_440 },
      graceMinutes: 60,
      state: "up",
    });
    const { entries } = (await (await app.request("/api/audit?action=heartbeat.created")).json()) as {
      entries: AuditEntry[];
    };
    expect(entries[0]).toMatchObject({ target: "rotate-logs", actor: { kind: "key" } });
    const created = await Promise.all(Array.from({ length: 5 }, () => ping(at("at-once?create=1"))));
    expect(created.filter(([status]) => status < 300)).toHaveLength(5);
    expect((await ping(at("No slug?create=1")))[0]).toBe(422);
  });

  test("a publishable key, which is no secret, may not ping, and neither may keys that may not send", async () => {
    const session = {
      cookie: await app.signIn(),
      origin: app.address,
      "content-type": "application/json",
    };
    const newKey = async (body: object) => {
      const init = { method: "POST", headers: session, body: JSON.stringify({ name: "K", ...body }) };
      const response = await app.request("/api/keys?project=default", init);
      return ((await response.json()) as { secret: string }).secret;
    };
    const { heartbeat } = await create();
    const publishable = await newKey({ kind: "publishable" });
    for (const slug of [heartbeat.slug, "not-there?create=1"]) {
      const [status, text] = await ping(at(slug, publishable));
      expect(status).toBe(403);
      expect(text).toContain("A publishable key can't ping.");
    }
    expect((await get(heartbeat.id)).state).toBe("new");
    expect((await ping(at(heartbeat.slug, await newKey({ scopes: ["read"] }))))[0]).toBe(403);
    expect((await ping(at(heartbeat.slug, `${app.key.slice(0, -1)}!`)))[0]).toBe(401);
    const { secret } = await app.another("Other", "other@example.com");
    expect((await ping(at(heartbeat.slug, secret)))[0]).toBe(404);
    for (const path of [at("a/b/c"), `${app.address}/ping/x?key=${app.key}`]) {
      const response = await fetch(path);
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(await response.text()).not.toContain(app.key.slice(7));
    }
  });
});

test("a heartbeat whose stored time is too early is checked once, not over and over", async () => {
  const { heartbeat, url } = await create();
  await ping(url);
  const { control } = app.running.store;
  const own = control.selectFrom("heartbeats").select("dueAt").where("id", "=", heartbeat.id);
  const { dueAt } = await own.executeTakeFirstOrThrow();
  await control.updateTable("heartbeats").set({ dueAt: 1 }).where("id", "=", heartbeat.id).execute();
  await pass(0);
  await until(async () => (await own.executeTakeFirstOrThrow()).dueAt === dueAt);
  expect((await get(heartbeat.id)).state).toBe("up");
});

describe("the API", () => {
  test("creates, changes, rotates and deletes", async () => {
    const { heartbeat, url } = await create({ name: "Café  sync!" });
    expect(heartbeat.slug).toBe("cafe-sync");
    expect((await call<{ url: string }>("GET", `/${heartbeat.id}/url`)).url).toBe(url);
    const again = await call<Problem>("POST", "", { name: "Cafe sync", schedule: heartbeat.schedule }, 409);
    expect(again.type).toBe("/problems/heartbeat-exists");
    await call<Problem>("POST", "", { name: "☕", schedule: heartbeat.schedule }, 422);
    const cron = { type: "cron", expression: "30 2 * * *", timeZone: "europe/berlin" };
    const { heartbeat: changed } = await call<{ heartbeat: Heartbeat }>("PATCH", `/${heartbeat.id}`, {
      schedule: cron,
      name: "Sync",
    });
    expect(changed).toMatchObject({
      name: "Sync",
      slug: "cafe-sync",
      schedule: { timeZone: "Europe/Berlin" },
    });
    const rotated = await call<{ url: string }>("POST", `/${heartbeat.id}/rotate`);
    expect((await ping(url))[0]).toBe(404);
    expect((await ping(rotated.url))[0]).toBe(200);
    await call("DELETE", `/${heartbeat.id}`);
    expect((await ping(rotated.url))[0]).toBe(404);
    await call("GET", `/${heartbeat.id}`, undefined, 404);
  });

  test("a schedule that changes counts from now", async () => {
    const { heartbeat, url } = await create({ schedule: { type: "period", minutes: 10_000 } });
    await ping(url);
    await pass(5_000);
    await call("PATCH", `/${heartbeat.id}`, { schedule: { type: "period", minutes: 60 } });
    expect((await get(heartbeat.id)).state).toBe("up");
    await pass(71);
    expect(await eventsOf(heartbeat, 2)).toMatchObject([{}, { tags: { state: "down" } }]);
  });

  test("a schedule that can't be is refused with what to do", async () => {
    const schedule = (expression: string, timeZone = "UTC") => ({ type: "cron", expression, timeZone });
    for (const [wrong, text] of [
      [schedule("0 0 30 2 *"), "never fires"],
      [schedule("61 * * * *"), "Invalid value for minute"],
      [schedule("* * * * * *"), "five fields"],
      [schedule("tomorrow"), "five fields"],
      [schedule("0 0 * * *", "Berlin"), "IANA time zone"],
      [{ type: "period", minutes: 0 }, "at least 1"],
    ] as const) {
      const { detail } = await call<Problem>("POST", "/preview", { schedule: wrong }, 422);
      expect(detail).toContain(text);
    }
    const { times } = await call<{ times: string[] }>("POST", "/preview", {
      schedule: schedule("30 2 * * *", "Europe/Berlin"),
    });
    expect(times).toHaveLength(3);
    for (const time of times)
      expect(new Date(time).toLocaleTimeString("en-GB", { timeZone: "Europe/Berlin" })).toBe("02:30:00");
  });

  test("a project has a limited number", async () => {
    const { slug, secret } = await app.another("Full", "full@example.com");
    expect(slug).toBe("full");
    const body = (name: string) => JSON.stringify({ name, schedule: { type: "period", minutes: 5 } });
    const headers = { "content-type": "application/json" };
    const post = (name: string) =>
      app.request("/api/heartbeats", { method: "POST", headers, body: body(name) }, secret);
    for (let number = 0; number < limits.heartbeats; number++)
      expect((await post(`Job ${number}`)).status).toBe(201);
    expect(((await (await post("One more")).json()) as Problem).type).toBe("/problems/limit-reached");
  });
});

test("what was sent with a ping is erased with the user that it names", async () => {
  const { heartbeat, url } = await create();
  await ping(url, { method: "POST", body: "synced cus_4711 and others" });
  await ping(url, { method: "POST", body: "synced others" });
  const response = await app.request("/api/users/cus_4711", { method: "DELETE" });
  expect(response.status).toBe(202);
  await until(async () => (await pingsOf(heartbeat.id)).at(-1)!.body === null);
  expect((await pingsOf(heartbeat.id)).map(({ body }) => body)).toEqual(["synced others", null]);
});

describe("a badge", () => {
  test("shows the state on other sites, until it is turned off", async () => {
    const { heartbeat, url } = await create({ name: '<b>"&', slug: "escaped" });
    expect(heartbeat.badgeUrl).toBeNull();
    const { heartbeat: published } = await call<{ heartbeat: Heartbeat }>(
      "POST",
      `/${heartbeat.id}/badge`,
      undefined,
      201,
    );
    const badge = published.badgeUrl!;
    const read = async () => {
      const response = await fetch(badge);
      return { headers: response.headers, text: await response.text() };
    };
    const { headers, text } = await read();
    expect(headers.get("content-type")).toBe("image/svg+xml");
    expect(headers.get("cache-control")).toBe("public, max-age=60");
    expect(headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(text).toContain("&lt;b&gt;&quot;&amp;: new");
    await ping(`${url}/start`);
    expect((await read()).text).toContain(": up");
    await ping(`${url}/fail`);
    expect((await read()).text).toContain(": down");
    // The badge's address can't be pinged, nor does it tell the other one.
    expect((await ping(badge.replace("/badge/", "/ping/").replace(".svg", "")))[0]).toBe(404);
    const again = await call<{ heartbeat: Heartbeat }>("POST", `/${heartbeat.id}/badge`, undefined, 201);
    expect(again.heartbeat.badgeUrl).not.toBe(badge);
    expect((await fetch(badge)).status).toBe(404);
    await call("DELETE", `/${heartbeat.id}/badge`);
    expect((await fetch(again.heartbeat.badgeUrl!)).status).toBe(404);
  });
});
