// @engines sqlite, postgres
// @long postgres
/** Reports through HTTP, as an SMTP server and the services of destinations receive them, under a clock that moves. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Report, ReportSchedule } from "../schemas/report.ts";
import type { Tile } from "../schemas/tile.ts";
import { auditOf, callAs } from "../testing/account-calls.ts";
import { type DestinationReceiver, destinationReceiver } from "../testing/destination-receiver.ts";
import { type SmtpInbox, smtpInbox } from "../testing/smtp-inbox.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { computeTiles } from "./report-tiles.ts";

const dayMs = 24 * 60 * 60 * 1_000;
const place = { title: "", x: 0, y: 0, w: 3, h: 2 };
const tiles = [
  { ...place, id: "orders", type: "number", title: "Orders", q: "channel:orders" },
  { ...place, id: "line", y: 2, type: "line", q: "channel:orders", split: "tag.country" },
  { ...place, id: "table", y: 4, type: "table", title: "By country", q: "", split: "tag.country" },
  { ...place, id: "funnel", y: 6, type: "funnel", steps: ["name:Visited", "name:Ordered"] },
  { ...place, id: "weeks", y: 8, type: "retention", title: "Who comes back" },
  { ...place, id: "newest", y: 10, type: "feed", q: "channel:orders" },
  { ...place, id: "rate", y: 12, type: "value", key: "rate" },
  { ...place, id: "note", y: 14, type: "text", title: "About", text: "Numbers of the **shop**." },
];

let inbox: SmtpInbox;
let receiver: DestinationReceiver;
let app: TestApp;
let cookie: string;
/** How far the server's clock is ahead. */
let aheadMs = 0;
const realNow = Date.now;
beforeAll(async () => {
  Date.now = () => realNow() + aheadMs;
  inbox = await smtpInbox();
  receiver = await destinationReceiver();
  app = await testApp({ smtpUrl: inbox.url }, () => Date.now());
  cookie = await app.signIn();
  await confirm("owner@example.com");
});
afterAll(async () => {
  Date.now = realNow;
  await app?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
  await inbox?.close();
});

let board: string;
beforeEach(async () => {
  board = await createBoard();
});

const control = () => app.running.store.control;

async function confirm(email: string, emailVerified = 1): Promise<void> {
  await control().updateTable("accounts").set({ emailVerified }).where("email", "=", email).execute();
}

/** Calls the API as a member. */
async function call<Result>(method: string, path: string, body?: unknown, status = 200, as = cookie) {
  const result = await callAs<Result>(app, method, path, { cookie: as, ...(body !== undefined && { body }) });
  expect(`${result.status} ${JSON.stringify(result.body)}`).toStartWith(`${status} `);
  return result.body;
}

let boards = 0;
async function createBoard(shown: unknown[] = tiles): Promise<string> {
  const body = { name: `Shop ${++boards}`, tiles: shown };
  // Each test has its own, and a project can have so many.
  for (const { id } of (await call<{ boards: { id: string }[] }>("GET", "/api/boards")).boards.slice(10))
    await call("DELETE", `/api/boards/${id}`);
  return (await call<{ board: { id: string } }>("POST", "/api/boards", body, 201)).board.id;
}

let destinations = 0;
async function createDestination(kind: keyof DestinationReceiver["settings"]): Promise<string> {
  const body = { kind, name: `Destination ${++destinations}`, settings: receiver.settings[kind] };
  return (await call<{ destination: { id: string } }>("POST", "/api/project-destinations", body, 201))
    .destination.id;
}

const weekly: ReportSchedule = { every: "week", weekday: "monday", at: "08:00", timeZone: "Europe/Berlin" };

async function create(change: object = {}, as = cookie): Promise<Report> {
  const body = { board, schedule: weekly, ...change };
  return (await call<{ report: Report }>("POST", "/api/reports", body, 201, as)).report;
}
const get = async (id: string) => (await call<{ report: Report }>("GET", `/api/reports/${id}`)).report;
const send = (id: string, as = cookie) => call("POST", `/api/reports/${id}/send`, undefined, 200, as);

/** Whoever creates a report wakes the loop that makes them due. */
async function wake(): Promise<void> {
  const { id } = await create();
  await call("DELETE", `/api/reports/${id}`);
}

/** Lets a report be due at the next occasion, and waits until it is sent. */
async function passTo(report: Report): Promise<Report> {
  aheadMs += Date.parse(report.dueAt!) - Date.now() + 1_000;
  await wake();
  let sent = report;
  await until(async () => {
    sent = await get(report.id);
    return sent.last !== null && sent.last.state !== "waiting";
  });
  return sent;
}

/** Orders of the last week and of the one before, in the time zone of the reports. */
async function addOrders(perWeek: number, before: number): Promise<void> {
  const thisWeek = Temporal.Instant.fromEpochMilliseconds(Date.now())
    .toZonedDateTimeISO("Europe/Berlin")
    .startOfDay();
  const start = thisWeek.subtract({ days: thisWeek.dayOfWeek - 1 });
  for (const [weeks, count] of [
    [1, perWeek],
    [2, before],
  ] as const)
    for (let order = 0; order < count; order++) {
      const createdAt = new Date(
        start.subtract({ weeks }).add({ hours: 30 }).epochMilliseconds,
      ).toISOString();
      const userId = `user ${weeks} ${order}`;
      await app.post({ channel: "visits", name: "Visited", userId, createdAt });
      if (order % 2 === 0)
        await app.post({
          channel: "orders",
          name: "Ordered",
          userId,
          createdAt,
          tags: { country: "DE" },
        });
    }
}

test("users of now are not compared with themselves", async () => {
  const { store } = app.running;
  const { id } = await store.control.selectFrom("projects").select("id").executeTakeFirstOrThrow();
  const weekMs = 7 * 24 * 60 * 60 * 1_000;
  const now = Date.now();
  const place = { x: 0, y: 0, w: 3, h: 4 };
  const tile = { id: "live", type: "sessions", ...place, title: "", q: "", activity: "", show: "live" };
  const period = { timeZone: "UTC", beforeMs: now - 2 * weekMs, fromMs: now - weekMs, toMs: now };
  const tiles = [{ ...tile, split: "tag.path", limit: 10 } as Tile];
  const [live] = await computeTiles(store, id, { tiles }, period);
  expect(live).toMatchObject({ data: { type: "number" }, before: null });
});

describe("a report", () => {
  test("comes by email at its time, with numbers, the change, a picture, and once", async () => {
    await addOrders(8, 4);
    const report = await create();
    expect(report).toMatchObject({ destination: null, enabled: true, last: null });
    expect(new Date(report.dueAt!).getUTCDay()).toBe(1);
    const before = inbox.received.length;
    const sent = await passTo(report);
    expect(sent.last).toMatchObject({ state: "delivered" });
    expect(Date.parse(sent.dueAt!)).toBeGreaterThan(Date.now());
    expect(inbox.received.length).toBe(before + 1);
    const { subject, text, html, raw, headers } = inbox.received.at(-1)!;
    expect(subject).toStartWith(`Shop ${boards}, `);
    expect(text).toContain("Orders: ");
    expect(text).toContain("the week before");
    expect(text).toContain(
      "You get this report every Monday at 08:00 (Europe/Berlin), because you asked for it.",
    );
    expect(html).toContain('src="cid:picture@report"');
    expect(html).toContain("<strong>shop</strong>");
    expect(raw).toContain("Content-Type: image/png");
    expect(headers["list-unsubscribe"]).toContain("/unsubscribe/");
    expect(headers["auto-submitted"]).toBe("auto-generated");
    await wake();
    expect(inbox.received.length).toBe(before + 1);
  });

  test("tells of the last whole week, compared with the one before", async () => {
    await addOrders(8, 4);
    const fresh = await createBoard([
      { ...place, id: "a", type: "number", title: "Visits", q: "channel:visits", metric: "events" },
    ]);
    const { id } = await create({ board: fresh });
    const counted = await call<{ data: { value: number; before: number } }>(
      "GET",
      `/api/boards/${fresh}/tiles/a/data?${lastWeek()}`,
    );
    await send(id);
    await until(async () => (await get(id)).last?.state === "delivered");
    const { text } = inbox.received.at(-1)!;
    expect(counted.data.value).toBeGreaterThanOrEqual(8);
    expect(text).toContain(`Visits: ${counted.data.value}\n`);
    expect(text).toContain(`the week before (${counted.data.before})`);
    expect(text).toContain("This is a test.");
  });

  test("says why it can't be created", async () => {
    const fails = async (body: object, status: number, type: string, as = cookie) =>
      expect(
        await call<{ type: string }>("POST", "/api/reports", { schedule: weekly, ...body }, status, as),
      ).toMatchObject({
        type: `/problems/${type}`,
      });
    await fails({ board: "none" }, 404, "board-unknown");
    await fails({ board: await createBoard([]) }, 409, "report-empty");
    await fails({ board, destination: "none" }, 404, "destination-unknown");
    await fails({ board, schedule: { ...weekly, every: "month", day: 32 } }, 422, "body-invalid");
    await app.addMember("new@example.com", "viewer");
    await confirm("new@example.com", 0);
    const viewer = await app.signIn("new@example.com");
    await fails({ board }, 409, "report-unreachable", viewer);
    await fails({ board, destination: await createDestination("slack") }, 403, "role-insufficient", viewer);
    await confirm("new@example.com");
    const own = await create({}, viewer);
    // It is nobody else's.
    await call("GET", `/api/reports/${own.id}`, undefined, 404);
    await call("DELETE", `/api/reports/${own.id}`, undefined, 404);
    for (let made = 1; made < limits.reportsOfAccount; made++) await create({}, viewer);
    await fails({ board }, 409, "limit-reached", viewer);
    const withKey = await app.request("/api/reports", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ board, schedule: weekly }),
    });
    expect(withKey.status).toBe(409);
  });

  test("is changed only in the version that editing began with, and recorded", async () => {
    const report = await create();
    const patch = (version: string, body: object) =>
      callAs<{ report: Report }>(app, "PATCH", `/api/reports/${report.id}`, {
        cookie,
        body,
        headers: { "if-match": `"${version}"` },
      });
    const off = await patch(report.version, { enabled: false });
    expect(off).toMatchObject({ status: 200, body: { report: { enabled: false, dueAt: null } } });
    expect((await patch(report.version, { enabled: true })).status).toBe(412);
    const daily = { every: "day", at: "07:30", timeZone: "UTC" };
    const { body } = await patch(off.body.report.version, { schedule: daily, enabled: true });
    expect(body.report.dueAt).toEndWith("T07:30:00.000Z");
    await call("DELETE", `/api/reports/${report.id}`);
    const actions = (await auditOf(app)).filter(({ detail }) => detail.id === report.id);
    expect(actions.map(({ action }) => action)).toEqual([
      "report.created",
      "report.changed",
      "report.changed",
      "report.deleted",
    ]);
  });

  test("ends with its board, its member and its destination", async () => {
    const slack = await createDestination("slack");
    const toSlack = await create({ destination: slack });
    await call("DELETE", `/api/project-destinations/${slack}`);
    await call("GET", `/api/reports/${toSlack.id}`, undefined, 404);

    const own = await create();
    await call("DELETE", `/api/boards/${board}`);
    await call("GET", `/api/reports/${own.id}`, undefined, 404);
    expect((await auditOf(app, "board.deleted")).at(-1)!.detail).toMatchObject({ reports: 1 });

    await app.addMember("leaves@example.com", "viewer");
    await confirm("leaves@example.com");
    const leaves = await app.signIn("leaves@example.com");
    const { id } = await create({ board: await createBoard() }, leaves);
    await call("POST", "/api/projects/default/leave", undefined, 200, leaves);
    expect(await control().selectFrom("reports").select("id").where("id", "=", id).execute()).toEqual([]);
  });

  test("is stopped by one click in its email, without a session", async () => {
    const { id } = await create();
    await send(id);
    await until(async () => (await get(id)).last?.state === "delivered");
    const link = /<(http[^>]+)>/.exec(inbox.received.at(-1)!.headers["list-unsubscribe"]!)![1]!;
    const path = new URL(link).pathname;
    const preview = await fetch(`${app.address}/api${path}`);
    expect(await preview.json()).toMatchObject({ report: `Shop ${boards}`, unsubscribed: false });
    expect((await fetch(app.address + path, { method: "POST" })).status).toBe(200);
    expect(await get(id)).toMatchObject({ enabled: false, dueAt: null });
    // Other email of the project goes on.
    expect(await control().selectFrom("emailUnsubscriptions").selectAll().execute()).toEqual([]);
  });

  test("that was turned off before it was sent is not sent", async () => {
    const { id } = await create();
    inbox.refuseNext(451);
    await control().updateTable("reports").set({ dueAt: Date.now() }).where("id", "=", id).execute();
    await wake();
    await until(async () => (await get(id)).last?.detail?.includes("451") ?? false);
    await call("PATCH", `/api/reports/${id}`, { enabled: false });
    aheadMs += 60_000;
    await control()
      .updateTable("deliveries")
      .set({ nextAttemptAt: 0 })
      .where("state", "=", "waiting")
      .execute();
    await control().deleteFrom("deliveryQueues").execute();
    await until(async () => {
      // Another one wakes the worker.
      await send((await create()).id);
      return (await get(id)).last?.state === "dead";
    });
    expect((await get(id)).last!.detail).toBe("The report was deleted or turned off.");
  });
});

/** The query of a tile for the last whole week of Berlin, as of the server's clock. */
function lastWeek(): URLSearchParams {
  const today = Temporal.Instant.fromEpochMilliseconds(Date.now())
    .toZonedDateTimeISO("Europe/Berlin")
    .startOfDay();
  const to = today.subtract({ days: today.dayOfWeek - 1 });
  const iso = (time: Temporal.ZonedDateTime) => time.toInstant().toString();
  return new URLSearchParams({
    from: iso(to.subtract({ weeks: 1 })),
    to: iso(to),
    timeZone: "Europe/Berlin",
    compare: "true",
  });
}

describe("a report to a destination", () => {
  const kinds = [
    "webhook",
    "slack",
    "discord",
    "telegram",
    "teams",
    "ntfy",
    "gotify",
    "matrix",
    "apprise",
  ] as const;

  for (const kind of kinds)
    test(`of the kind ${kind} has the numbers`, async () => {
      const { id } = await create({ destination: await createDestination(kind) });
      await send(id);
      await until(async () => (await get(id)).last!.state !== "waiting");
      expect((await get(id)).last!.detail).toContain("200");
      const body = JSON.stringify(receiver.take().body);
      expect(body).toContain("Orders");
      expect(body).toContain(`Shop ${boards}`);
    });

  test("of the kind webhook has each tile's data, and the picture's address", async () => {
    const { id } = await create({ destination: await createDestination("webhook") });
    await send(id);
    await until(async () => (await get(id)).last?.state === "delivered");
    const { type, data } = receiver.take().body as unknown as {
      type: string;
      data: {
        tiles: { id: string; type: string; data: object; before: object | null }[];
        picture: string;
        test: boolean;
      };
    };
    expect(type).toBe("report.sent");
    expect(data.test).toBeTrue();
    expect(data.tiles.map((tile) => tile.id)).toEqual(tiles.map((tile) => tile.id));
    expect(data.tiles[0]).toMatchObject({ data: { type: "number" }, before: { type: "number" } });

    const { pathname } = new URL(data.picture);
    const picture = await fetch(app.address + pathname);
    expect([
      picture.status,
      picture.headers.get("content-type"),
      picture.headers.get("x-robots-tag"),
    ]).toEqual([200, "image/png", "noindex"]);
    const bytes = new Uint8Array(await picture.arrayBuffer());
    expect([...bytes.slice(1, 4)]).toEqual([..."PNG"].map((letter) => letter.charCodeAt(0)));
    const changed = pathname.replace(/^(.*\/)(.)/, (_, start, first) => start + (first === "A" ? "B" : "A"));
    expect((await fetch(app.address + changed)).status).toBe(404);
    aheadMs += limits.reportPictureDays * dayMs;
    expect((await fetch(app.address + pathname)).status).toBe(404);
    aheadMs -= limits.reportPictureDays * dayMs;
    expect((await fetch(app.address + pathname)).status).toBe(200);
    await call("DELETE", `/api/reports/${id}`);
    expect((await fetch(app.address + pathname)).status).toBe(404);
  });

  test("goes to Slack without the picture if Slack can't open it", async () => {
    const { id } = await create({ destination: await createDestination("slack") });
    receiver.answerNext(400, "invalid_blocks");
    await send(id);
    await until(async () => (await get(id)).last?.state === "delivered");
    expect(JSON.stringify(receiver.take().body)).not.toContain("image_url");
  });
});

test("a tile that can't be computed says so, and the others are sent", async () => {
  const wide: Partial<Tile>[] = [
    { ...place, id: "many", type: "retention", title: "Returns", q: "", again: "", first: "ever" },
    { ...place, id: "fine", y: 2, type: "number", title: "Fine", q: "", metric: "events" },
  ];
  const { id } = await create({ board: await createBoard(wide) });
  await send(id);
  await until(async () => (await get(id)).last?.state === "delivered");
  expect(inbox.received.at(-1)!.text).toContain("Fine: ");
});

test("the preview is a picture, and says so if there is nothing to draw", async () => {
  const preview = (of: string) =>
    fetch(`${app.address}/api/reports/preview?project=default&board=${of}&every=month`, {
      headers: { cookie, origin: app.address },
    });
  expect((await preview(board)).headers.get("content-type")).toBe("image/png");
  const onlyText = await createBoard([{ ...place, id: "t", type: "text", text: "Nothing" }]);
  expect((await preview(onlyText)).status).toBe(409);
});
