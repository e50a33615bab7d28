// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Problem } from "../core/problems.ts";
import type { FormField, ProjectDestination } from "../schemas/destination.ts";
import type { Rule } from "../schemas/rule.ts";
import { type DestinationReceiver, destinationReceiver } from "../testing/destination-receiver.ts";
import { webhookSecret } from "../testing/destination-services.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { projectKinds } from "./kinds/index.ts";

type Body = Problem & {
  destination: ProjectDestination;
  destinations: ProjectDestination[];
  kinds: { kind: string; label: string; fields: FormField[] }[];
  signingSecret?: string;
  previousValidUntil?: string;
  delivered: boolean;
};

let app: TestApp;
let receiver: DestinationReceiver;
let made = 0;
beforeAll(async () => {
  app = await testApp();
  receiver = await destinationReceiver();
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});
beforeEach(async () => {
  for (const { id } of (await call("GET")).body.destinations) await call("DELETE", `/${id}`);
});

async function call(method: string, path = "", body?: unknown, key?: string) {
  const response = await app.request(
    `/api/project-destinations${path}`,
    {
      method,
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    },
    key,
  );
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) as Body };
}

async function add(kind: string, settings: object, name = `Destination ${made++}`) {
  const { status, text, body } = await call("POST", "", { kind, name, settings });
  expect(`${status} ${text}`).toStartWith("201");
  return body;
}

async function auditEntries(target: string) {
  const { entries } = (await (await app.request("/api/audit?action=destination")).json()) as {
    entries: { action: string; target: string; detail: object }[];
  };
  return entries.filter((entry) => entry.target === target);
}

test("the form of each kind says what to enter", async () => {
  const { kinds } = (await (await app.request("/api/destination-kinds")).json()) as Body;
  expect(kinds.map(({ kind, label }) => [kind, label])).toEqual(
    projectKinds.map(({ kind, label }) => [kind, label]),
  );
  const fieldsOf = (kind: string) => kinds.find((each) => each.kind === kind)!.fields;
  expect(
    fieldsOf("webhook").map(({ name, type, required, secret, readable }) => [
      name,
      type,
      required,
      secret,
      readable,
    ]),
  ).toEqual([
    ["url", "url", true, true, true],
    ["secret", "text", false, true, false],
  ]);
  expect(fieldsOf("telegram")).toContainEqual({
    name: "topic",
    title: "Topic",
    description: "The id of a topic, in groups that have topics.",
    type: "number",
    required: false,
    secret: false,
    readable: true,
  });
  expect(fieldsOf("ntfy")[0]).toMatchObject({ name: "server", required: false, default: "https://ntfy.sh" });
  for (const { fields } of kinds)
    for (const { title, description } of fields) expect([title, description]).not.toContain("");
});

describe("adding", () => {
  for (const { kind } of projectKinds) {
    const sample = () => receiver.settings[kind as keyof typeof receiver.settings] as Record<string, unknown>;

    test(`${kind}: no response but the first one contains a secret`, async () => {
      const { fields } = ((await (await app.request("/api/destination-kinds")).json()) as Body).kinds.find(
        (each) => each.kind === kind,
      )!;
      const { destination, signingSecret } = await add(kind, sample());
      expect(signingSecret).toBe(kind === "webhook" ? webhookSecret : undefined);
      const secrets = fields.filter(({ name, secret }) => secret && name in sample());
      expect(Object.keys(destination.secrets)).toEqual(secrets.map(({ name }) => name));
      const open = Object.entries(sample()).filter(([name]) => !(name in destination.secrets));
      expect(destination.settings).toMatchObject(Object.fromEntries(open));
      const texts = [
        (await call("GET")).text,
        (await call("GET", `/${destination.id}`)).text,
        (await call("PATCH", `/${destination.id}`, { name: `Renamed ${kind}` })).text,
        await (await app.request("/api/audit")).text(),
        JSON.stringify(await app.running.store.control.selectFrom("destinations").selectAll().execute()),
      ];
      for (const { name } of secrets)
        for (const text of texts) expect(text).not.toContain(JSON.stringify(sample()[name]).slice(1, -1));
    });
  }

  test("a webhook without a secret gets one, which only this response contains", async () => {
    const { destination, signingSecret } = await add("webhook", { url: receiver.settings.webhook.url });
    expect(signingSecret).toMatch(/^whsec_[\w+/]{43}=$/);
    expect(destination).toMatchObject({
      enabled: true,
      settings: {},
      secrets: { secret: signingSecret!.slice(-4), url: "6789" },
      deliveredAt: null,
      failingSince: null,
      failure: null,
    });
    expect((await call("GET", `/${destination.id}`)).text).not.toContain(signingSecret!);
  });

  test("the endings of short secrets are not shown", async () => {
    const { destination } = await add("ntfy", { topic: "a-topic" });
    expect(destination.secrets).toEqual({ topic: "" });
  });

  const invalid: [name: string, body: object, pointer: string, detail: string][] = [
    ["an unknown kind", { kind: "slak", settings: {} }, "/kind", 'Did you mean "slack"?'],
    ["a missing setting", { kind: "slack", settings: {} }, "/settings/url", '"url" is missing.'],
    ["a setting that is no URL", { kind: "slack", settings: { url: "x" } }, "/settings/url", "must be a URL"],
    [
      "an unknown setting",
      { kind: "ntfy", settings: { topic: "t", tpic: "t" } },
      "/settings/tpic",
      "no such setting",
    ],
    [
      "a setting that is not for people",
      { kind: "webhook", settings: { url: "https://example.com/x", previousSecret: webhookSecret } },
      "/settings/previousSecret",
      "no such setting",
    ],
    [
      "settings that exclude each other",
      { kind: "apprise", settings: { server: "https://example.com", key: "k", urls: "mailto://x" } },
      "/settings/key",
      "not both",
    ],
    [
      "a password in an address, which viewers would see",
      { kind: "gotify", settings: { server: "https://user:password@example.com", token: "token" } },
      "/settings/server",
      "must not contain a user name or password",
    ],
  ];
  for (const [name, body, pointer, detail] of invalid) {
    test(`${name} is rejected with a pointer to it`, async () => {
      const response = await call("POST", "", { name: "n", ...body });
      expect(response.status).toBe(422);
      expect(response.body.errors).toEqual([{ pointer, detail: expect.stringContaining(detail) }]);
    });
  }

  test("private addresses are rejected at once, unless they are allowed", async () => {
    await using strict = await testApp({ allowPrivateAddresses: false });
    for (const url of ["http://example.com/hook", "https://127.0.0.1/hook", "https://[::1]/hook"]) {
      const response = await strict.request("/api/project-destinations", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ kind: "webhook", name: "n", settings: { url } }),
      });
      const { errors } = (await response.json()) as Problem;
      expect([response.status, errors?.[0]?.pointer]).toEqual([422, "/settings/url"]);
    }
  });

  test("rules that it names notify it; an unknown one adds nothing", async () => {
    const rule = { name: "Orders", q: "name:Order", when: { type: "each" }, to: { everyone: true } };
    const to = { everyone: true, members: [], destinations: [] };
    const created = await app.request("/api/rules", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...rule, to }),
    });
    const { rule: before } = (await created.json()) as { rule: Rule };
    const refused = await call("POST", "", {
      kind: "webhook",
      name: "Hook",
      settings: receiver.settings.webhook,
      rules: [before.id, "unknown"],
    });
    expect([refused.status, refused.body.type]).toEqual([404, expect.stringContaining("rule-unknown")]);
    expect((await call("GET")).body.destinations).toEqual([]);
    const { status, body } = await call("POST", "", {
      kind: "webhook",
      name: "Hook",
      settings: receiver.settings.webhook,
      rules: [before.id],
    });
    expect(status).toBe(201);
    const { rule: after } = (await (await app.request(`/api/rules/${before.id}`)).json()) as { rule: Rule };
    expect(after.to).toEqual({ ...to, schedules: [], destinations: [body.destination.id], fallback: null });
    expect(after.version).not.toBe(before.version);
    await app.request(`/api/rules/${before.id}`, { method: "DELETE" });
  });

  test("a name is used once in a project, also by requests at the same time", async () => {
    const body = { kind: "ntfy", name: "On call", settings: { topic: "t" } };
    const statuses = await Promise.all([1, 2, 3].map(async () => (await call("POST", "", body)).status));
    expect(statuses.toSorted()).toEqual([201, 409, 409]);
    const other = await app.another("Another", "name@example.com");
    expect((await call("POST", "", body, other.secret)).status).toBe(201);
  });

  test("a project has at most 50", async () => {
    for (let n = 0; n < 50; n++) await add("ntfy", { topic: "t" });
    const response = await call("POST", "", { kind: "ntfy", name: "One more", settings: { topic: "t" } });
    expect(response.status).toBe(409);
    expect(response.body.detail).toContain("at most 50 destinations");
  });
});

describe("changing", () => {
  test("a change keeps what it leaves out, also secrets", async () => {
    const { destination } = await add("telegram", receiver.settings.telegram);
    const { body } = await call("PATCH", `/${destination.id}`, { settings: { topic: 7 } });
    expect(body.destination).toMatchObject({
      settings: { ...destination.settings, topic: 7 },
      secrets: destination.secrets,
    });
    await call("PATCH", `/${destination.id}`, { settings: { topic: null } });
    expect((await call("GET", `/${destination.id}`)).body.destination.settings).toEqual(destination.settings);
    expect((await call("POST", `/${destination.id}/test`)).body).toMatchObject({ delivered: true });
    receiver.take();
  });

  test("a secret is not sent to another server without being entered again", async () => {
    const { destination } = await add("gotify", receiver.settings.gotify);
    const settings = { server: "http://127.0.0.1:9/" };
    const { status, body } = await call("PATCH", `/${destination.id}`, { settings });
    expect([status, body.errors?.[0]?.pointer]).toEqual([422, "/settings/token"]);
    const again = await call("PATCH", `/${destination.id}`, { settings: { ...settings, token: "again" } });
    expect(again.body.destination.settings).toEqual(settings);
  });

  test("an invalid change changes nothing", async () => {
    const { destination } = await add("slack", receiver.settings.slack);
    const { status } = await call("PATCH", `/${destination.id}`, { name: "x", settings: { url: "x" } });
    expect(status).toBe(422);
    expect((await call("PATCH", `/${destination.id}`, {})).status).toBe(422);
    expect((await call("GET", `/${destination.id}`)).body.destination).toEqual(destination);
  });

  test("a name that another destination has is rejected", async () => {
    const first = await add("ntfy", { topic: "t" });
    const second = await add("ntfy", { topic: "t" });
    const { name } = first.destination;
    expect((await call("PATCH", `/${second.destination.id}`, { name })).status).toBe(409);
    expect((await call("PATCH", `/${first.destination.id}`, { name })).status).toBe(200);
  });

  for (const [what, change] of [
    ["turning one off", async (id: string) => call("PATCH", `/${id}`, { enabled: false })],
    ["deleting one", async (id: string) => call("DELETE", `/${id}`)],
  ] as const) {
    test(`${what} cancels its waiting deliveries`, async () => {
      const [one, other] = [await add("ntfy", { topic: "t" }), await add("ntfy", { topic: "t" })];
      const { control } = app.running.store;
      const nextAttemptAt = Date.now() + 3_600_000;
      const ids = [one, other].map(({ destination }) => destination.id);
      await control
        .insertInto("deliveries")
        .values(
          ids.flatMap((destinationId) =>
            Array.from({ length: 600 }, () => ({
              projectId: 1,
              destinationId,
              kind: "ntfy",
              label: "n",
              state: "waiting" as const,
              createdAt: Date.now(),
              nextAttemptAt,
            })),
          ),
        )
        .execute();
      expect((await change(ids[0]!)).status).toBe(200);
      const rows = await control
        .selectFrom("deliveries")
        .select(["destinationId", "state"])
        .where("destinationId", "in", ids)
        .execute();
      const states = new Set(
        rows.map(({ destinationId, state }) => `${ids.indexOf(destinationId!)} ${state}`),
      );
      expect(states).toEqual(new Set(["0 cancelled", "1 waiting"]));
      await control.deleteFrom("deliveries").execute();
    });
  }

  test("each change is in the audit log, without secrets", async () => {
    const name = "Audited";
    const { destination } = await add("ntfy", { topic: "a-secret-topic" }, name);
    await call("PATCH", `/${destination.id}`, { enabled: false, settings: { topic: "another-secret" } });
    await call("DELETE", `/${destination.id}`);
    expect(await auditEntries(name)).toMatchObject([
      { action: "destination.deleted", detail: { id: destination.id, kind: "ntfy" } },
      { action: "destination.changed", detail: { enabled: false, settings: ["topic"] } },
      { action: "destination.created", detail: { id: destination.id, kind: "ntfy" } },
    ]);
  });

  test("unknown ids are not found", async () => {
    for (const [method, path, body] of [
      ["GET", "/x"],
      ["PATCH", "/x", { enabled: true }],
      ["DELETE", "/x"],
      ["POST", "/x/test"],
      ["POST", "/x/rotate"],
    ] as const) {
      const response = await call(method, path, body);
      expect([response.status, response.body.type]).toEqual([404, "/problems/destination-unknown"]);
    }
  });
});

describe("testing", () => {
  test("a test shows the service's real answer", async () => {
    const { destination } = await add("slack", receiver.settings.slack);
    expect((await call("POST", `/${destination.id}/test`)).body).toEqual({
      ok: true,
      delivered: true,
      detail: "Slack answered 200.",
    } as unknown as Body);
    expect(JSON.stringify(receiver.take().body)).toContain("It works");
    receiver.answerNext(404, "no_service");
    expect((await call("POST", `/${destination.id}/test`)).body).toMatchObject({
      delivered: false,
      detail: "Slack answered 404: no_service",
    });
  });

  test("a test changes nothing, and needs no destination that is turned on", async () => {
    const { destination } = await add("slack", receiver.settings.slack);
    await call("PATCH", `/${destination.id}`, { enabled: false });
    const before = (await call("GET", `/${destination.id}`)).body;
    receiver.answerNext(500);
    await call("POST", `/${destination.id}/test`);
    await call("POST", `/${destination.id}/test`);
    receiver.take();
    expect((await call("GET", `/${destination.id}`)).body).toEqual(before);
  });
});

describe("rotating a webhook's secret", () => {
  test("for a day, requests are signed with both", async () => {
    const { destination, signingSecret } = await add("webhook", { url: receiver.settings.webhook.url });
    const rotated = await call("POST", `/${destination.id}/rotate`);
    expect(rotated.body.signingSecret).toMatch(/^whsec_/);
    expect(rotated.body.signingSecret).not.toBe(signingSecret);
    const hours = (Date.parse(rotated.body.previousValidUntil!) - Date.now()) / 3_600_000;
    expect(hours).toBeWithin(23.9, 24.1);
    const { Webhook } = await import("standardwebhooks");
    // A change keeps both.
    await call("PATCH", `/${destination.id}`, { settings: { url: receiver.settings.webhook.url } });
    const seen = receiver.inspectNext();
    await call("POST", `/${destination.id}/test`);
    const { headers } = await seen;
    for (const secret of [signingSecret!, rotated.body.signingSecret!])
      expect(new Webhook(secret).verify(headers["x-raw-body"]!, headers)).toMatchObject({
        type: "webhook.test",
      });
    expect((await call("GET", `/${destination.id}`)).body.destination.secrets).toEqual({
      url: "6789",
      secret: rotated.body.signingSecret!.slice(-4),
    });
  });

  test("other kinds have no signing secret", async () => {
    const { destination } = await add("slack", receiver.settings.slack);
    const { status, body } = await call("POST", `/${destination.id}/rotate`);
    expect([status, body.type]).toEqual([409, "/problems/destination-not-webhook"]);
  });
});

test("viewers see destinations, but not where they are; those who manage rules see a webhook's address", async () => {
  const { url } = receiver.settings.webhook;
  await add("slack", receiver.settings.slack, "Chat");
  const { destination } = await add("webhook", { url }, "Own server");
  for (const role of ["viewer", "member", "admin"] as const) {
    await app.addMember(`${role}@example.com`, role);
    const headers = { cookie: await app.signIn(`${role}@example.com`), origin: app.address };
    const all = await (await app.request("/api/project-destinations?project=default", { headers })).text();
    const one = await app.request(`/api/project-destinations/${destination.id}?project=default`, { headers });
    const { settings, secrets } = ((await one.json()) as Body).destination;
    expect(all).toContain("Chat");
    expect(all).not.toContain("/services/");
    expect(all.includes(url)).toBe(role === "admin");
    expect([settings.url, secrets.url]).toEqual(role === "admin" ? [url, undefined] : [undefined, "6789"]);
  }
});
