// @engines sqlite, postgres
// @long postgres
/** The states of what a project exchanges with other programs, through HTTP. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ConnectionSummary } from "../schemas/connections.ts";
import type { ProjectDestination } from "../schemas/destination.ts";
import type { Webhook } from "../schemas/webhook.ts";
import { callAs } from "../testing/account-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let cookie: string;
beforeAll(async () => {
  app = await testApp();
  cookie = await app.signIn();
});
afterAll(() => app?.[Symbol.asyncDispose]());

async function call<Result>(method: string, path: string, body?: unknown, as = cookie): Promise<Result> {
  const made = await callAs<Result>(app, method, `/api${path}?project=default`, {
    cookie: as,
    ...(body !== undefined && { body }),
  });
  expect(`${made.status} ${JSON.stringify(made.body)}`).toMatch(/^20[01] /);
  return made.body;
}
const summary = (as?: string) => call<ConnectionSummary>("GET", "/connections", undefined, as);
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

test("an empty project has nothing to look at", async () => {
  expect(await summary()).toEqual({
    ok: true,
    keys: { active: 1, expiring: 0, expired: 0 },
    webhooks: { total: 0, withoutSecret: 0, rejecting: 0 },
    rejected: 0,
    destinations: { total: 0, failing: 0 },
    deliveries: { dead: 0 },
  });
});

test("keys that expire soon or have expired are counted, but not those that were rotated or revoked", async () => {
  const { control } = app.running.store;
  const add = async (name: string, expiresAt: string | null) =>
    (await call<{ key: { id: string } }>("POST", "/keys", { name, expiresAt })).key.id;
  const end = (ids: string[]) =>
    control
      .updateTable("keys")
      .set({ expiresAt: Date.now() - 1_000 })
      .where("id", "in", ids)
      .execute();
  await add("later", inDays(30));
  const soon = await add("soon", inDays(7));
  await end([await add("ended", inDays(7))]);
  const rotated = await add("rotated", inDays(7));
  await call("POST", `/keys/${rotated}/rotate`, { overlapHours: 1 });
  const [revoked, replaced] = [await add("revoked", null), await add("replaced", null)];
  await call("DELETE", `/keys/${revoked}`);
  await call("POST", `/keys/${replaced}/rotate`, { overlapHours: 1 });
  await end([revoked, replaced]);
  // The first one, "later", "soon", "rotated" and both successors; of these, "soon" and the successor of "rotated".
  expect((await summary()).keys).toEqual({ active: 6, expiring: 2, expired: 1 });
  await call("PATCH", `/keys/${soon}`, { expiresAt: null });
  expect((await summary()).keys).toEqual({ active: 6, expiring: 1, expired: 1 });
});

test("webhooks without a secret, or whose last request was rejected", async () => {
  const add = (body: object) => call<{ webhook: Webhook; url: string }>("POST", "/webhooks", body);
  await add({ name: "Signed", source: "github", channel: "code" });
  const { webhook, url } = await add({
    name: "Plain",
    source: "plain",
    channel: "c",
    mapping: { name: "{{type}}" },
  });
  const outcome = async () =>
    (await call<{ webhook: Webhook }>("GET", `/webhooks/${webhook.id}`)).webhook.lastOutcome;
  const send = (body: string) => fetch(url, { method: "POST", body });
  expect([(await summary()).webhooks, await outcome()]).toEqual([
    { total: 2, withoutSecret: 1, rejecting: 0 },
    null,
  ]);
  await send("{");
  expect([(await summary()).webhooks.rejecting, await outcome()]).toEqual([1, "rejected"]);
  expect((await summary()).rejected).toBe(1);
  await send('{"type":"ok"}');
  expect([(await summary()).webhooks.rejecting, await outcome()]).toEqual([0, "recorded"]);
});

test("destinations that fail, unless they are off", async () => {
  const { destination } = await call<{ destination: ProjectDestination }>("POST", "/project-destinations", {
    kind: "ntfy",
    name: "Phone",
    settings: { topic: "shop" },
  });
  const { control } = app.running.store;
  await control.updateTable("destinations").set({ failingSince: Date.now() }).execute();
  expect((await summary()).destinations).toEqual({ total: 1, failing: 1 });
  await call("PATCH", `/project-destinations/${destination.id}`, { enabled: false });
  expect((await summary()).destinations).toEqual({ total: 1, failing: 0 });
});

test("members who may not manage keys are told nothing of them", async () => {
  await app.addMember("viewer@example.com", "viewer");
  const viewer = await summary(await app.signIn("viewer@example.com"));
  expect(viewer).toMatchObject({ keys: null, webhooks: { total: 2 } });
  const key = (await (await app.request("/api/connections")).json()) as ConnectionSummary;
  expect(key.keys).toBeNull();
});
