// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Insertable } from "kysely";
import { limits } from "../core/limits.ts";
import type { Problem } from "../core/problems.ts";
import type { Delivery } from "../schemas/delivery.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type DestinationReceiver, destinationReceiver } from "../testing/destination-receiver.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until, untilFannedOut } from "../testing/until.ts";

let app: TestApp;
let receiver: DestinationReceiver;
/** IDs of two destinations of the project. */
let webhook: string;
let slack: string;

beforeAll(async () => {
  app = await testApp();
  receiver = await destinationReceiver();
  [webhook, slack] = [await add("webhook"), await add("slack")];
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});
beforeEach(() => app.running.store.control.deleteFrom("deliveries").execute());

async function add(kind: "webhook" | "slack"): Promise<string> {
  const { body } = await send("POST", "/api/project-destinations", {
    kind,
    name: kind,
    settings: receiver.settings[kind],
  });
  return (body.destination as { id: string }).id;
}

async function send(method: string, path: string, body?: unknown, key?: string) {
  const response = await app.request(
    path,
    {
      method,
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    },
    key,
  );
  const json = (await response.json()) as Problem & {
    deliveries: Delivery[];
    delivery: Delivery;
    nextCursor: string | null;
    retried: number;
    dead: number;
    destination: unknown;
  };
  return { status: response.status, body: json };
}

const list = async (query = "") => (await send("GET", `/api/deliveries${query}`)).body;

type NewDelivery = Partial<Insertable<ControlTables["deliveries"]>>;

/** Stores deliveries, and returns their ids. */
async function store(...deliveries: NewDelivery[]): Promise<string[]> {
  const now = Date.now();
  const rows = await app.running.store.control
    .insertInto("deliveries")
    .values(
      deliveries.map((delivery) => ({
        projectId: 1,
        destinationId: webhook,
        notification: JSON.stringify({
          type: "silence",
          atMs: now,
          sinceMs: now - 60_000,
          rule: { name: "Backup missing", q: "" },
        }),
        ruleId: "r1",
        kind: "webhook",
        label: "Our webhook",
        state: "dead" as const,
        attempts: 3,
        detail: "The webhook answered 400.",
        createdAt: now,
        nextAttemptAt: null,
        ...delivery,
      })),
    )
    .returning("id")
    .execute();
  return rows.map(({ id }) => String(id)).toSorted((a, b) => Number(a) - Number(b));
}

describe("listing", () => {
  test("a delivery says what, where, how and when", async () => {
    const [id] = await store({});
    expect((await list()).deliveries).toEqual([
      {
        id: id!,
        type: "silence",
        kind: "webhook",
        label: "Our webhook",
        account: null,
        accountId: null,
        destination: webhook,
        channel: null,
        rule: { id: "r1", name: "Backup missing" },
        event: null,
        via: null,
        title: expect.stringMatching(/^No event for/),
        state: "dead",
        attempts: 3,
        detail: "The webhook answered 400.",
        failures: [],
        createdAt: expect.any(String),
        deliveredAt: null,
        nextAttemptAt: null,
        readAt: null,
        reason: null,
        until: null,
        digest: null,
      },
    ]);
  });

  test("the newest come first, page by page", async () => {
    const ids = await store(...Array.from({ length: 7 }, () => ({})));
    const pages: string[][] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page = await list(`?limit=3${cursor && `&cursor=${cursor}`}`);
      pages.push(page.deliveries.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 1]);
    expect(pages.flat()).toEqual(ids.toReversed());
  });

  test("filters narrow it down, also together", async () => {
    const [dead, delivered, other, early] = await store(
      {},
      { state: "delivered", eventId: "e1", channel: "payments" },
      { kind: "slack", destinationId: slack, ruleId: "r2" },
      { createdAt: Date.UTC(2020, 0, 1) },
    );
    for (const [query, expected] of [
      ["state=delivered", [delivered]],
      ["kind=slack", [other]],
      [`destination=${slack}`, [other]],
      ["rule=r2", [other]],
      ["event=e1", [delivered]],
      ["channel=payments", [delivered]],
      ["channel=payments&state=dead", []],
      ["to=2020-01-02T00:00:00Z", [early]],
      ["from=2020-01-02T00:00:00Z", [other, delivered, dead]],
      [`state=dead&destination=${webhook}`, [early, dead]],
      ["state=cancelled", []],
    ] as const) {
      const { deliveries } = await list(`?${query}`);
      expect([query, deliveries.map(({ id }) => id)]).toEqual([query, [...expected] as string[]]);
    }
    for (const query of ["state=gone", "limit=0", "limit=1001", "cursor=x", "from=x", "color=red"])
      expect([query, (await send("GET", `/api/deliveries?${query}`)).status]).toEqual([query, 400]);
  });

  test("a rare one is found among thousands, and every page ends", async () => {
    const [first] = await store({ ruleId: "rare" });
    for (let n = 0; n < 9; n++) await store(...Array.from({ length: 1_000 }, () => ({})));
    const [last] = await store({ ruleId: "rare" });
    const page = await list("?rule=rare&limit=1");
    expect([page.deliveries.map(({ id }) => id), page.nextCursor]).toEqual([[last!], last!]);
    const next = await list(`?rule=rare&limit=1&cursor=${last}`);
    expect([next.deliveries.map(({ id }) => id), next.nextCursor]).toEqual([[first!], null]);
    expect(await list("?rule=none")).toMatchObject({ deliveries: [], nextCursor: null, dead: 9_002 });
  });

  test("an event's page lists those to people and to destinations", async () => {
    const response = await app.post({ channel: "c", name: "n", notify: true });
    const { event } = (await response.json()) as { event: { id: string } };
    await untilFannedOut(app);
    await store({ eventId: event.id, notification: null });
    const { body } = await send("GET", `/api/events/${event.id}/deliveries`);
    expect(
      body.deliveries.map(({ type, kind, account, destination }) => [
        type,
        kind,
        account !== null,
        destination,
      ]),
    ).toEqual([
      ["event", "dashboard", true, null],
      ["event", "webhook", false, webhook],
    ]);
  });
});

describe("retrying", () => {
  test("a dead delivery is sent once more", async () => {
    const [id] = await store({});
    const { status, body } = await send("POST", `/api/deliveries/${id}/retry`);
    expect([status, body.delivery.state]).toEqual([200, "waiting"]);
    await until(async () => (await list()).deliveries[0]!.state === "delivered");
    expect(receiver.take().headers["webhook-id"]).toMatch(/^msg_[0-9a-f]{32}$/);
    expect((await list()).deliveries[0]).toMatchObject({ attempts: 4, detail: "The webhook answered 200." });
  });

  test("one that is older than a day is dead again after one failure", async () => {
    const [id] = await store({ createdAt: Date.now() - 2 * 24 * 60 * 60 * 1_000 });
    receiver.answerNext(503);
    await send("POST", `/api/deliveries/${id}/retry`);
    await until(async () => (await list()).deliveries[0]!.state === "dead");
    expect((await list()).deliveries[0]).toMatchObject({
      attempts: 4,
      detail: "The webhook answered 503.",
      failures: [{ at: expect.any(String), detail: "The webhook answered 503." }],
    });
  });

  test("each failed attempt is remembered with its answer, up to a number", async () => {
    const earlier = Array.from({ length: limits.deliveryFailures }, (_, atMs) => ({
      atMs,
      detail: `No ${atMs}.`,
    }));
    const [id] = await store({ failures: JSON.stringify(earlier) });
    receiver.answerNext(400, "not like this");
    await send("POST", `/api/deliveries/${id}/retry`);
    await until(async () => (await list()).deliveries[0]!.attempts === 4 && (await list()).dead === 1);
    const { failures } = (await list()).deliveries[0]!;
    expect(failures).toHaveLength(limits.deliveryFailures);
    expect(failures[0]!.detail).toBe("No 1.");
    expect(failures.at(-1)!.detail).toContain("not like this");
  });

  test("those of a filter are retried, and the others left", async () => {
    await store(
      { channel: "payments", ruleId: "r2" },
      { channel: "orders", ruleId: "r2" },
      { channel: "payments" },
    );
    const { body } = await send("POST", "/api/deliveries/retry", { channel: "payments", rule: "r2" });
    expect(body.retried).toBe(1);
    await until(async () => (await list("?state=delivered")).deliveries.length === 1);
    expect((await list()).dead).toBe(2);
    receiver.take();
    expect((await send("POST", "/api/deliveries/retry", { color: "red" })).status).toBe(422);
  });

  test("only dead ones of the own project can be retried", async () => {
    const ids = await store({ state: "delivered" }, { state: "cancelled" }, { projectId: 9 });
    const statuses = await Promise.all(
      [...ids, "0", "x"].map(async (id) => (await send("POST", `/api/deliveries/${id}/retry`)).status),
    );
    expect(statuses).toEqual([409, 409, 404, 404, 404]);
  });

  test("all dead ones are retried, or those to one destination, with one entry in the audit log", async () => {
    const { running } = app;
    await running.store.control.deleteFrom("auditLog").execute();
    // Turned off, so that nothing is sent.
    for (const id of [webhook, slack])
      await running.store.control
        .updateTable("destinations")
        .set({ enabled: 0 })
        .where("id", "=", id)
        .execute();
    await store(
      ...Array.from({ length: 1_203 }, () => ({})),
      { state: "delivered" },
      { projectId: 9 },
      { destinationId: slack, kind: "slack", label: "Our Slack" },
    );
    const one = await send("POST", "/api/deliveries/retry", { destination: slack });
    expect(one.body.retried).toBe(1);
    await until(async () => (await list(`?destination=${slack}`)).deliveries[0]!.state === "dead");
    expect((await send("POST", "/api/deliveries/retry", {})).body.retried).toBe(1_204);
    const entries = await running.store.control
      .selectFrom("auditLog")
      .select(["action", "target", "detail"])
      .orderBy("id")
      .execute();
    expect(entries.map(({ detail, ...entry }) => ({ ...entry, detail: JSON.parse(detail) }))).toEqual([
      { action: "deliveries.retried", target: "Our Slack", detail: { count: 1, destination: slack } },
      { action: "deliveries.retried", target: null, detail: { count: 1_204 } },
    ]);
    const elsewhere = await running.store.control
      .selectFrom("deliveries")
      .select(["state", "attempts"])
      .where("projectId", "=", 9)
      .execute();
    expect(elsewhere).toEqual([{ state: "dead", attempts: 3 }]);
  });

  test("with nothing to retry, nothing is logged", async () => {
    await app.running.store.control.deleteFrom("auditLog").execute();
    expect((await send("POST", "/api/deliveries/retry", {})).body.retried).toBe(0);
    expect(await app.running.store.control.selectFrom("auditLog").select("id").execute()).toEqual([]);
  });
});

// Last, because it adds a member, who gets notifications.
test("members see those to the project's destinations and their own, admins all", async () => {
  const { control } = app.running.store;
  await app.addMember("member@example.com", "member");
  const accounts = await control.selectFrom("accounts").select(["id", "email"]).execute();
  const idOf = (email: string) => accounts.find((each) => each.email === email)!.id;
  const [shared, own, others] = await store(
    {},
    { accountId: idOf("member@example.com"), kind: "email" },
    { accountId: idOf(app.owner), kind: "email" },
  );
  for (const [email, ids] of [
    ["member@example.com", [own, shared]],
    [app.owner, [others, own, shared]],
  ] as const) {
    const headers = { cookie: await app.signIn(email), origin: app.address };
    const response = await app.request("/api/deliveries", { headers });
    const { deliveries, dead } = (await response.json()) as { deliveries: Delivery[]; dead: number };
    expect([email, deliveries.map(({ id }) => id), dead]).toEqual([email, [...ids] as string[], ids.length]);
  }
  const { deliveries } = await list(`?account=${idOf(app.owner)}`);
  expect(deliveries).toMatchObject([{ id: others!, accountId: idOf(app.owner) }]);
});
