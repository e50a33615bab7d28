/** Calls every operation of the API description on a real server, and compares each response with its schema. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { serve } from "../serve.ts";
import { testAppWithEmail, tokenIn } from "../testing/account-calls.ts";
import { chatAlerts } from "../testing/chat-alerts.ts";
import {
  discordButtonsOf,
  discordInteraction,
  slackClick,
  telegramButtonsOf,
  telegramClick,
} from "../testing/chat-clicks.ts";
import { type Call, type Contract, readContract } from "../testing/contract.ts";
import { destinationReceiver } from "../testing/destination-receiver.ts";
import { removeStorage } from "../testing/engine.ts";
import { oidcProvider } from "../testing/oidc-provider.ts";
import type { ReceivedEmail } from "../testing/smtp-inbox.ts";
import { type TestApp, testApp, testConfig, testPassword, testPasswords } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { pageEvent, websiteKey } from "../testing/website-visits.ts";

type Fields = Record<string, string>;

let provider: Awaited<ReturnType<typeof oidcProvider>>;
let withEmail: Awaited<ReturnType<typeof testAppWithEmail>>;
let app: TestApp;
let contract: Contract;
let session: Fields;
/** An id that nothing has. */
const missing = "01900000-0000-7000-8000-000000000000";

/** The operations that change nothing which the audit log is about, by why. */
const notAudited = {
  "events, and properties of users and groups": [
    "DELETE /api/groups/{type}/{id}/members/{userId}",
    "PATCH /api/groups/{type}/{id}",
    "PATCH /api/insights/{key}",
    "PATCH /api/users/{userId}",
    "POST /api/alias",
    "POST /api/events",
    "POST /api/groups",
    "POST /api/groups/{type}/{id}/members",
    "POST /api/identify",
    "POST /api/webhooks/{id}/requests/{request}/resend",
    "POST /hooks/{token}",
    "POST /ping/{key}/{slug}/{end}",
    "POST /ping/{token}",
    "POST /ping/{token}/{end}",
    "POST /s/{name}",
    "PUT /api/insights/{key}",
    "PUT /api/users/{userId}",
  ],
  "one rejected event, or a dry run": [
    "DELETE /api/events/rejected/{id}",
    "POST /api/events/rejected/replay",
    "POST /api/events/rejected/{id}/replay",
  ],
  "a member's own": [
    "DELETE /api/destinations/{id}",
    "DELETE /api/preferences/mutes/{id}",
    "DELETE /api/preferences/unsubscribed/{project}",
    "PATCH /api/account/passkeys/{id}",
    "PATCH /api/destinations/{id}",
    "PATCH /api/preferences",
    "POST /api/destinations",
    "POST /api/notifications/read",
    "POST /api/preferences/mutes",
    "POST /api/sidebar/seen",
    "POST /unsubscribe/{token}",
    "PUT /api/preferences/levels",
    "PUT /api/sidebar/pins",
  ],
  "a link is sent; what it does is recorded when it is used": [
    "POST /api/account/email",
    "POST /api/password-reset",
    "POST /api/sign-in/provider",
    "POST /api/sign-up",
  ],
  "nothing is changed": [
    "POST /api/boards/preview",
    "POST /api/cohorts/preview",
    "POST /api/destinations/{id}/test",
    "POST /api/heartbeats/preview",
    "POST /api/project-destinations/{id}/test",
    "POST /api/rules/preview",
    "POST /api/silences/preview",
    "POST /api/webhooks/preview",
    "POST /mcp",
  ],
};

beforeAll(async () => {
  provider = await oidcProvider(() => `${app.running.baseUrl}/api/auth/callback/oidc`);
  withEmail = await testAppWithEmail({
    signUp: "open",
    oidcIssuer: provider.issuer,
    oidcClientId: provider.clientId,
    oidcClientSecret: provider.clientSecret,
  });
  app = withEmail.app;
  provider.start();
  contract = await readContract(app);
  session = { cookie: await app.signIn(), origin: app.address };
});
afterAll(async () => {
  await withEmail[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

/** The operations that are recorded only if there was something left to end or to retry. */
const sometimesAudited = ["DELETE /api/sessions", "POST /api/deliveries/retry"];

/** Whether each operation that has succeeded added to the audit log. */
const isAudited = new Map<string, boolean>();

async function call(operation: string, expected: number, values: Call = {}) {
  const before = await countAudited();
  const answer = await contract.call(app, session, operation, expected, values);
  if (expected < 300 && !operation.startsWith("GET "))
    isAudited.set(operation, isAudited.get(operation) || (await countAudited()) > before);
  return answer;
}

async function countAudited(): Promise<number> {
  const entries = app.running.store.control.selectFrom("auditLog");
  const { count } = await entries
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Returns the first email to an address. */
async function emailTo(address: string, about = ""): Promise<ReceivedEmail> {
  const received = () =>
    withEmail.inbox.received.find(({ to, subject }) => to.includes(address) && subject.includes(about));
  await until(() => received() !== undefined);
  return received()!;
}

const project = "?project=default";
const browser = {
  kind: "browser",
  label: "Firefox",
  subscription: {
    endpoint: "https://push.example.com/subscription",
    keys: {
      p256dh: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM",
      auth: "tBHItJI5svbpez7KI4CCXg",
    },
  },
};

test("events, channels, users and numbers", async () => {
  const event = { channel: "payments", name: "Payment received", userId: "u1", tags: { amount: "49" } };
  const recorded = await call("POST /api/events", 201, { as: "key", body: event });
  await call("POST /api/events", 201, { as: "key", body: [event, { ...event, name: "Refund" }] });
  await call("POST /api/events", 422, { as: "key", body: { ...event, tags: { amount: 49 } } });
  await call("GET /api/events", 200, { as: "key", query: "?limit=2&q=payment" });
  await call("GET /api/events", 400, { as: "key", query: "?limit=x" });
  await call("GET /api/events", 401, { as: "nobody" });
  await call("GET /api/events/count", 200, { as: "key" });
  await call("GET /api/events/stream", 200, { as: "key" });
  const id = { id: recorded.event.id };
  await call("GET /api/events/{id}", 200, { as: "key", params: id });
  await call("GET /api/events/{id}/before", 200, { as: "key", params: id });
  await call("GET /api/events/{id}/deliveries", 200, { params: id, query: project });
  await call("GET /api/search/complete", 200, { as: "key", query: "?q=pay" });
  await call("GET /api/search/complete", 200, { as: "key", query: "?q=received" });
  await call("GET /api/search/texts", 200, { as: "key", query: "?of=value&key=amount" });
  await call("GET /api/search/alternatives", 200, { as: "key", query: "?q=user=u1" });
  await call("GET /api/stats", 200, { as: "key", query: "?split=channel&users=true" });
  await call("GET /api/stats", 200, { as: "key", query: "?metric=sum&tag=amount" });
  await call("GET /api/stats", 200, { as: "key", query: "?split=group.company" });
  await call("GET /api/stats", 200, { as: "key", query: "?metric=users&per=company" });
  await call("GET /api/funnel", 200, { as: "key", query: "?step=payment&step=refund" });
  await call("GET /api/funnel", 200, {
    as: "key",
    query: "?step=payment&step=refund&per=company&split=group.company",
  });
  await call("GET /api/retention", 200, { as: "key" });
  await call("GET /api/paths", 200, { as: "key", query: "?anchor=payment&direction=before" });
  await call("GET /api/paths/users", 200, { as: "key", query: "?anchor=payment&source=0&target=end" });
  await call("GET /api/stickiness", 200, { as: "key", query: "?by=day" });
  await call("GET /api/stickiness/users", 200, { as: "key", query: "?periods=1" });
  await call("GET /api/lifecycle", 200, { as: "key", query: "?by=week" });
  await call("GET /api/lifecycle/users", 200, { as: "key", query: "?period=29&users=new" });
  await call("GET /api/stats/users", 200, { as: "key" });
  await call("GET /api/stats/users", 200, { as: "key", query: "?per=company" });
  await call("GET /api/funnel/users", 200, { as: "key", query: "?step=payment&step=refund&reached=1" });
  await call("GET /api/retention/users", 200, { as: "key", query: "?cohort=0" });
  await call("POST /api/channels", 201, { as: "key", body: { name: "orders", icon: "📦" } });
  await call("POST /api/channels", 409, { as: "key", body: { name: "orders" } });
  await call("GET /api/channels", 200, { as: "key" });
  await call("PATCH /api/channels/{name}", 200, {
    as: "key",
    params: { name: "orders" },
    body: { archived: true, firstTags: ["product"] },
  });
  await call("GET /api/users", 200, { as: "key" });
  await call("PUT /api/users/{userId}", 200, {
    as: "key",
    params: { userId: "u1" },
    body: { name: "Ada", seats: 5 },
  });
  await call("PATCH /api/users/{userId}", 200, {
    as: "key",
    params: { userId: "u1" },
    body: { plan: "pro", seats: null },
  });
  await call("GET /api/users/{userId}", 200, { as: "key", params: { userId: "u1" } });
  await call("POST /api/identify", 200, { as: "key", body: { userId: "u1", anonymousId: "visitor-1" } });
  await call("POST /api/identify", 409, { as: "key", body: { userId: "u2", anonymousId: "u1" } });
  await call("POST /api/alias", 200, { as: "key", body: { userId: "u1", previousId: "visitor-2" } });
  await call("POST /api/users/{userId}/merge", 200, {
    as: "key",
    params: { userId: "u1" },
    body: { userId: "u2", force: true },
  });
  await call("POST /api/users/{userId}/split", 200, { as: "key", params: { userId: "u2" } });
  await call("POST /api/users/{userId}/split", 409, { as: "key", params: { userId: "u1" } });
  await call("GET /api/users/{userId}", 404, { as: "key", params: { userId: "nobody" } });
  const list = await call("GET /api/events/rejected", 200, { query: project });
  const rejected = { id: list.rejected[0].id };
  await call("POST /api/events/rejected/{id}/replay", 201, { params: rejected, query: project, body: event });
  await call("DELETE /api/events/rejected/{id}", 404, { params: rejected, query: project });
  await call("DELETE /api/events/{id}", 200, { as: "key", params: id });
  const { job } = await call("DELETE /api/channels/{name}", 202, { as: "key", params: { name: "orders" } });
  await call("GET /api/jobs/{id}", 200, { as: "key", params: { id: job.id } });
  await call("DELETE /api/users/{userId}", 202, { as: "key", params: { userId: "u1" } });
});

test("views, rules and destinations", async () => {
  await call("GET /api/sidebar", 200, { query: project });
  await call("POST /api/sidebar/seen", 200, { query: project, body: { channels: [{ name: "payments" }] } });
  await call("PUT /api/sidebar/pins", 200, { query: project, body: { channels: ["payments"] } });
  const { view } = await call("POST /api/views", 201, {
    query: project,
    body: { name: "Paid", q: "pay*", shared: true },
  });
  await call("GET /api/views", 200, { query: project });
  await call("PATCH /api/views/{id}", 200, {
    params: { id: view.id },
    query: project,
    body: { name: "Payments" },
  });
  await call("DELETE /api/views/{id}", 200, { params: { id: view.id }, query: project });

  await call("GET /api/destination-kinds", 200, { as: "key" });
  const { destination } = await call("POST /api/project-destinations", 201, {
    as: "key",
    body: { kind: "webhook", name: "Hook", settings: { url: `${app.address}/healthz` } },
  });
  const hook = { as: "key", params: { id: destination.id } } as const;
  await call("GET /api/project-destinations", 200, { as: "key" });
  await call("GET /api/project-destinations/{id}", 200, hook);
  await call("PATCH /api/project-destinations/{id}", 200, { ...hook, body: { name: "Renamed" } });
  await call("POST /api/project-destinations/{id}/test", 200, hook);
  await call("POST /api/project-destinations/{id}/rotate", 200, hook);
  await call("POST /api/project-destinations/{id}/rotate-secret", 200, hook);

  const rule = { name: "Refunds", q: "name:Refund", when: { type: "each" } };
  const to = { everyone: true, members: [], destinations: [destination.id] };
  const created = await call("POST /api/rules", 201, { as: "key", body: { ...rule, to } });
  const params = { id: created.rule.id };
  await call("POST /api/rules/preview", 200, { as: "key", body: { q: rule.q, when: rule.when } });
  await call("GET /api/rules", 200, { as: "key" });
  await call("GET /api/rules/{id}", 200, { as: "key", params });
  await call("GET /api/rules/{id}/preview", 200, { as: "key", params });
  await call("POST /api/rules/{id}/test", 200, { as: "key", params });
  const metric = { type: "metric", measure: { metric: "users" }, minutes: 60, above: 5 };
  await call("POST /api/rules/preview", 200, { as: "key", body: { q: rule.q, when: metric, days: 2 } });
  await app.post({ channel: "payments", name: "Refund" });
  const dead = () => call("GET /api/deliveries", 200, { as: "key", query: "?state=dead" });
  await until(async () => (await dead()).deliveries.length > 0);
  const [{ id }] = (await dead()).deliveries;
  await call("POST /api/deliveries/{id}/retry", 200, { as: "key", params: { id } });
  await call("POST /api/deliveries/{id}/retry", 404, { as: "key", params: { id: missing } });
  await call("POST /api/deliveries/retry", 200, { as: "key", body: {} });
  const each = { when: { type: "burst", minutes: 60 }, forEach: "tag.service" };
  await call("PATCH /api/rules/{id}", 200, { as: "key", params, body: each });
  await app.post({ channel: "payments", name: "Refund", tags: { service: "billing" } });
  const values = () => call("GET /api/rules/{id}/values", 200, { as: "key", params });
  await until(async () => (await values()).values.length > 0);
  await call("POST /api/rules/{id}/forget", 200, { as: "key", params, body: { value: "billing" } });
  await call("POST /api/rules/{id}/forget", 404, { as: "key", params, body: { value: "billing" } });
  await call("PATCH /api/rules/{id}", 200, { as: "key", params, body: { enabled: false } });
  await call("DELETE /api/rules/{id}", 200, { as: "key", params });
  await call("DELETE /api/project-destinations/{id}", 200, hook);
});

test("notifications", async () => {
  const { destinations } = await call("GET /api/destinations", 200);
  const [inApp, email] = ["dashboard", "email"].map((kind) =>
    destinations.find((destination: Fields) => destination.kind === kind),
  );
  const params = { id: email.id };
  await call("PATCH /api/destinations/{id}", 200, { params, body: { enabled: true } });
  await call("POST /api/destinations/{id}/test", 200, { params });
  await call("POST /api/destinations/{id}/test", 409, { params: { id: inApp.id } });
  const added = await call("POST /api/destinations", 201, { body: browser });
  await call("DELETE /api/destinations/{id}", 200, { params: { id: added.destination.id } });
  await call("DELETE /api/destinations/{id}", 404, { params: { id: missing } });
  await call("POST /api/destinations", 422, { body: { kind: "browser" } });

  await app.post({ channel: "payments", name: "Urgent", notify: true });
  let token = "";
  await until(() => {
    const links = withEmail.inbox.received.map(({ headers }) => headers["list-unsubscribe"]);
    token = /unsubscribe\/([^/>]+)>/.exec(links.join())?.[1] ?? "";
    return token !== "";
  });
  await call("GET /api/unsubscribe/{token}", 200, { as: "nobody", params: { token } });
  await call("POST /unsubscribe/{token}", 200, { as: "nobody", params: { token } });
  await call("GET /api/unsubscribe/{token}", 404, { as: "nobody", params: { token: "a.b" } });
  await call("DELETE /api/preferences/unsubscribed/{project}", 200, { params: { project: "default" } });

  const disk = { name: "Disk", q: 'name:"Disk full"', when: { type: "each" }, resolve: "state=ok" };
  const everyone = { everyone: true, members: [], destinations: [] };
  const { rule } = await call("POST /api/rules", 201, { as: "key", body: { ...disk, to: everyone } });
  await app.post({ channel: "servers", name: "Disk full" });
  let alertToken = "";
  await until(() => {
    const mails = withEmail.inbox.received.map(({ text }) => text);
    alertToken = /\/alert\/([^?\s]+)\?/.exec(mails.join())?.[1] ?? "";
    return alertToken !== "";
  });
  const link = { as: "nobody", params: { token: alertToken } } as const;
  const { alert } = await call("GET /api/alert-links/{token}", 200, link);
  await call("GET /api/alert-links/{token}", 404, { as: "nobody", params: { token: "a.b" } });
  await call("POST /alert/{token}", 200, { ...link, body: { do: "acknowledge" } });
  await call("POST /alert/{token}", 409, { ...link, body: { do: "acknowledge" } });
  const one = { as: "key", params: { id: alert.id } } as const;
  await call("GET /api/alerts", 200, { as: "key", query: "?state=open" });
  await call("GET /api/alerts/{id}", 200, one);
  await call("GET /api/alerts/{id}", 404, { ...one, params: { id: missing } });
  await call("POST /api/alerts/{id}/acknowledge", 200, { ...one, body: { minutes: 60 } });
  await call("POST /api/alerts/{id}/resolve", 200, one);
  await call("POST /api/alerts/{id}/resolve", 409, one);
  await call("DELETE /api/rules/{id}", 200, { as: "key", params: { id: rule.id } });

  const deployment = { type: "events", name: "Deployment", icon: "🚀", q: "channel:deploys" };
  await call("POST /api/annotations", 422, { as: "key", body: { ...deployment, q: "" } });
  const { annotation } = await call("POST /api/annotations", 201, { as: "key", body: deployment });
  await call("POST /api/annotations", 201, {
    ...{ as: "key", body: { type: "note", name: "Black Friday", at: new Date().toISOString().slice(0, 10) } },
  });
  const marking = { as: "key", params: { id: annotation.id } } as const;
  await call("GET /api/annotations", 200, { as: "key", query: "?type=note" });
  await call("GET /api/annotations/marks", 200, { as: "key", query: "?timeZone=Europe/Berlin" });
  await call("GET /api/annotations/{id}", 200, marking);
  await call("GET /api/annotations/{id}", 404, { ...marking, params: { id: missing } });
  await call("PATCH /api/annotations/{id}", 200, { ...marking, body: { enabled: false } });
  await call("PATCH /api/annotations/{id}", 422, { ...marking, body: { at: "2026-11-27" } });
  await call("DELETE /api/annotations/{id}", 200, marking);
  const ofVisitors = [{ type: "events", q: 'name:"Order placed"', atLeast: 1, days: 30 }];
  await call("POST /api/cohorts", 422, { as: "key", body: { name: "Buyers", conditions: [] } });
  const { cohort } = await call("POST /api/cohorts", 201, {
    as: "key",
    body: { name: "Buyers", conditions: ofVisitors },
  });
  await call("POST /api/cohorts", 409, { as: "key", body: { name: "Buyers", conditions: ofVisitors } });
  const buyers = { as: "key", params: { id: cohort.id } } as const;
  await call("POST /api/cohorts/preview", 200, {
    as: "key",
    body: { match: "none", conditions: ofVisitors },
  });
  await call("GET /api/cohorts", 200, { as: "key" });
  await call("GET /api/cohorts/{id}", 200, buyers);
  await call("GET /api/cohorts/{id}", 404, { as: "key", params: { id: missing } });
  await call("GET /api/cohorts/{id}/members", 200, buyers);
  await call("GET /api/cohorts/{id}/export", 200, { ...buyers, query: "?format=ndjson" });
  await call("PATCH /api/cohorts/{id}", 200, { ...buyers, body: { name: "Customers" } });
  await call("DELETE /api/cohorts/{id}", 200, buyers);

  const acme = { type: "company", id: "acme" };
  await call("POST /api/groups", 422, { as: "key", body: { ...acme, type: "user" } });
  await call("POST /api/groups", 200, {
    as: "key",
    body: { ...acme, properties: { plan: "team" }, userId: "u1" },
  });
  const company = { as: "key", params: acme } as const;
  await call("GET /api/group-types", 200, { as: "key" });
  await call("GET /api/groups", 200, { as: "key", query: "?type=company&q=team" });
  await call("GET /api/groups/{type}/{id}", 200, company);
  await call("GET /api/groups/{type}/{id}", 404, { as: "key", params: { type: "company", id: "missing" } });
  await call("PATCH /api/groups/{type}/{id}", 200, { ...company, body: { plan: null } });
  await call("POST /api/groups/{type}/{id}/members", 200, { ...company, body: { userId: "u2" } });
  await call("GET /api/groups/{type}/{id}/members", 200, company);
  await call("GET /api/users/{userId}/groups", 200, { as: "key", params: { userId: "u1" } });
  await call("GET /api/users/{userId}/cohorts", 200, { as: "key", params: { userId: "u1" } });
  const membership = { as: "key", params: { ...acme, userId: "u2" } } as const;
  await call("DELETE /api/groups/{type}/{id}/members/{userId}", 200, membership);
  await call("DELETE /api/groups/{type}/{id}/members/{userId}", 404, membership);
  await call("DELETE /api/groups/{type}/{id}", 200, company);
  const aboutUser = { as: "session", params: { userId: "u1" } } as const;
  await call("POST /api/users/{userId}/notes", 422, { ...aboutUser, body: { text: " " } });
  const { note } = await call("POST /api/users/{userId}/notes", 201, {
    ...aboutUser,
    body: { text: "Called." },
  });
  await call("GET /api/users/{userId}/notes", 200, { as: "key", params: { userId: "u1" } });
  const noted = { as: "session", params: { userId: "u1", id: note.id } } as const;
  await call("PATCH /api/users/{userId}/notes/{id}", 200, { ...noted, body: { text: "Called twice." } });
  await call("DELETE /api/users/{userId}/notes/{id}", 200, noted);
  await call("DELETE /api/users/{userId}/notes/{id}", 404, noted);

  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const planned = { reason: "Deployment", q: "server=db-1", from: inHours(1), to: inHours(2) };
  await call("POST /api/silences", 422, { as: "key", body: { ...planned, to: inHours(-1) } });
  const { silence } = await call("POST /api/silences", 201, { as: "key", body: planned });
  const that = { as: "key", params: { id: silence.id } } as const;
  await call("POST /api/silences/preview", 200, { as: "key", body: { q: "server=db-1" } });
  await call("GET /api/silences", 200, { as: "key", query: "?state=planned" });
  await call("GET /api/silences/{id}", 200, that);
  await call("GET /api/silences/{id}", 404, { ...that, params: { id: missing } });
  await call("PATCH /api/silences/{id}", 200, { ...that, body: { reason: "Deployment of the shop" } });
  await call("POST /api/silences/{id}/end", 409, that);
  await call("DELETE /api/silences/{id}", 200, that);
  const begun = await call("POST /api/silences", 201, { as: "key", body: { ...planned, from: inHours(0) } });
  const active = { as: "key", params: { id: begun.silence.id } } as const;
  await call("DELETE /api/silences/{id}", 409, active);
  await call("POST /api/silences/{id}/end", 200, active);
  await call("PATCH /api/silences/{id}", 409, { ...active, body: { to: inHours(3) } });

  await call("GET /api/notifications", 200);
  await call("GET /api/notifications/groups", 200);
  await call("POST /api/notifications/read", 200, { body: { ids: [missing] } });
  await call("GET /api/preferences", 200);
  const quietHours = { days: ["monday"], from: "22:00", to: "07:00" };
  await call("PATCH /api/preferences", 422, { body: { quietHours: {} } });
  await call("PATCH /api/preferences", 200, { body: { timeZone: "Europe/Berlin", quietHours } });
  await call("PATCH /api/preferences", 200, { body: { quietHours: null } });
  const level = { project: "default", destination: inApp.id, level: "all" };
  await call("PUT /api/preferences/levels", 200, { body: level });
  const { mute } = await call("POST /api/preferences/mutes", 201, {
    body: { project: "default", channel: "payments", minutes: 60 },
  });
  await call("DELETE /api/preferences/mutes/{id}", 200, { params: { id: mute.id } });
  await call("GET /api/deliveries", 200, { as: "key" });
});

test("keys, projects and members", async () => {
  const { key } = await call("POST /api/keys", 201, { query: project, body: { name: "Website" } });
  const id = { params: { id: key.id }, query: project };
  await call("GET /api/keys", 200, { query: project });
  await call("PATCH /api/keys/{id}", 200, { ...id, body: { name: "Shop" } });
  const { key: published } = await call("POST /api/keys", 201, {
    query: project,
    body: { name: "Pages", kind: "publishable" },
  });
  await call("POST /api/keys/{id}/identity-secret", 200, { params: { id: published.id }, query: project });
  await call("POST /api/keys/{id}/rotate", 200, { ...id, body: { overlapHours: 1 } });
  await call("DELETE /api/keys/{id}", 200, id);
  await call("GET /api/projects", 200);
  const created = await call("POST /api/projects", 201, { body: { name: "Second" } });
  const slug = { slug: created.project.slug };
  await call("PATCH /api/projects/{slug}", 200, { params: slug, body: { retentionDays: 90 } });

  await app.addMember("viewer@example.com", "viewer");
  const { members } = await call("GET /api/members", 200, { query: project });
  const viewer = members.find(({ email }: Fields) => email === "viewer@example.com");
  const member = { params: { id: viewer.id }, query: project };
  await call("PATCH /api/members/{id}", 200, { ...member, body: { role: "member" } });
  await call("DELETE /api/members/{id}", 200, member);
  await call("DELETE /api/projects/{slug}", 202, { params: slug, query: `?confirm=${slug.slug}` });

  const third = await call("POST /api/projects", 201, { body: { name: "Third" } });
  const handed = { params: { slug: third.project.slug as string } };
  await app.addMember("next@example.com", "admin", handed.params.slug);
  await call("POST /api/projects/{slug}/leave", 409, handed);
  const { members: both } = await call("GET /api/members", 200, { query: `?project=${handed.params.slug}` });
  const next = both.find(({ email }: Fields) => email === "next@example.com");
  await call("POST /api/projects/{slug}/transfer", 200, { ...handed, body: { accountId: next.id } });
  await call("POST /api/projects/{slug}/leave", 200, handed);

  const invited = await call("POST /api/invitations", 201, { query: project, body: { role: "viewer" } });
  await call("GET /api/invitations", 200, { query: project });
  const invitation = { params: { id: invited.invitation.id }, query: project };
  const renewed = await call("POST /api/invitations/{id}/renew", 200, invitation);
  const token = { params: { token: new URL(renewed.link).pathname.split("/").at(-1)! } };
  await call("GET /api/invitations/token/{token}", 200, { ...token, as: "nobody" });
  await call("POST /api/invitations/token/{token}/accept", 409, token);
  const newcomer = { email: "new@example.com", password: testPassword };
  await call("POST /api/invitations/token/{token}/sign-up", 201, { ...token, as: "nobody", body: newcomer });
  await call("DELETE /api/invitations/{id}", 404, invitation);

  const second = await call("POST /api/invitations", 201, { query: project, body: { role: "viewer" } });
  const secondToken = { token: new URL(second.link).pathname.split("/").at(-1)! };
  const joiner = { cookie: await app.signIn("next@example.com"), origin: app.address };
  const accept = { as: "nobody", headers: joiner, params: secondToken } as const;
  await call("POST /api/invitations/token/{token}/accept", 200, accept);
  const unused = await call("POST /api/invitations", 201, { query: project, body: { role: "viewer" } });
  await call("DELETE /api/invitations/{id}", 200, { query: project, params: { id: unused.invitation.id } });
  await call("GET /api/audit", 200, { query: project });
});

test("rejected events, together", async () => {
  const bad = { channel: "late", name: "Late", createdAt: "2999-01-01T00:00:00Z" };
  for (let count = 0; count < 3; count++) await app.post(bad);
  const { groups } = await call("GET /api/events/rejected/groups", 200, { query: project });
  const { reason } = groups.find(({ reason }: Fields) => reason!.includes("createdAt"));
  const fixes = [{ type: "set-channel", channel: "early" }];
  await call("POST /api/events/rejected/replay", 200, { as: "key", body: { reason, fixes, dryRun: true } });
  const list = await call("GET /api/events/rejected", 200, { as: "key", query: "?limit=1" });
  await call("DELETE /api/events/rejected/{id}", 200, { params: list.rejected[0], query: project });
  await call("POST /api/events/rejected/discard", 200, { as: "key", body: { reason } });
});

test("boards and insights", async () => {
  const place = { x: 0, y: 0, w: 4, h: 4 };
  const tiles = [
    { id: "line", type: "line", ...place, split: "channel" },
    { id: "number", type: "number", ...place },
    { id: "bar", type: "bar", ...place, split: "name" },
    { id: "area", type: "area", ...place },
    { id: "table", type: "table", ...place, split: "channel" },
    { id: "funnel", type: "funnel", ...place, steps: ["payment", "refund"] },
    { id: "retention", type: "retention", ...place },
    { id: "paths", type: "paths", ...place, anchor: "payment" },
    { id: "sticky", type: "stickiness", ...place },
    { id: "cycle", type: "lifecycle", ...place },
    { id: "feed", type: "feed", ...place },
    { id: "value", type: "value", ...place, key: "users" },
    { id: "empty", type: "value", ...place, key: "nothing" },
    { id: "text", type: "text", ...place, text: "Hello" },
  ];
  const key = { as: "key", params: { key: "users" } } as const;
  await call("PUT /api/insights/{key}", 200, { ...key, body: { value: 5, title: "Users", icon: "👤" } });
  await call("PATCH /api/insights/{key}", 200, { ...key, body: { add: 1 } });
  await call("GET /api/insights", 200, { as: "key" });
  await call("GET /api/insights/{key}", 200, key);

  const { board } = await call("POST /api/boards", 201, { as: "key", body: { name: "Shop", tiles } });
  const params = { id: board.id };
  await call("GET /api/boards", 200, { as: "key" });
  await call("GET /api/boards/{id}", 200, { as: "key", params });
  await call("PATCH /api/boards/{id}", 200, { as: "key", params, body: { name: "Our shop" } });
  await call("POST /api/boards/preview", 200, { as: "key", body: { tile: tiles[0] } });
  const { link } = await call("POST /api/boards/{id}/link", 201, { query: project, params });
  const token = new URL(link).pathname.split("/").at(-1)!;
  await call("GET /api/public/boards/{token}", 200, { as: "nobody", params: { token } });
  for (const { id: tileId } of tiles) {
    const data = { params: { ...params, tileId }, query: "?compare=true" };
    await call("GET /api/boards/{id}/tiles/{tileId}/data", 200, { as: "key", ...data });
    const open = { as: "nobody", params: { token, tileId } } as const;
    await call("GET /api/public/boards/{token}/tiles/{tileId}/data", 200, open);
  }
  await call("DELETE /api/boards/{id}/link", 200, { query: project, params });
  await call("DELETE /api/boards/{id}", 200, { as: "key", params });
  await call("POST /api/boards/{id}/restore", 200, { as: "key", params });
  await call("DELETE /api/insights/{key}", 200, key);
});

test("webhooks", async () => {
  const hook = { name: "Invoices", source: "plain", channel: "invoices" };
  const mapping = { name: "Invoice {{status}}", userId: "{{user}}", tags: { total: "{{total}}" } };
  const created = await call("POST /api/webhooks", 201, { query: project, body: { ...hook, mapping } });
  const one = { query: project, params: { id: created.webhook.id } };
  await call("GET /api/webhooks", 200, { as: "key" });
  await call("GET /api/webhooks/{id}", 200, { as: "key", params: one.params });
  await call("PATCH /api/webhooks/{id}", 200, { ...one, body: { name: "Bills" } });
  const preview = { source: "plain", channel: "invoices", mapping, body: '{"status":"paid"}' };
  await call("POST /api/webhooks/preview", 200, { query: project, body: preview });
  const { url } = await call("POST /api/webhooks/{id}/rotate", 200, one);
  await call("GET /api/webhooks/{id}/url", 200, one);
  await call("GET /api/connections", 200, { query: project });
  const to = { as: "nobody", params: { token: url.split("/").at(-1)! } } as const;
  await call("POST /hooks/{token}", 201, { ...to, body: { status: "paid", total: 49 } });
  await call("POST /hooks/{token}", 422, { ...to, body: { user: "x".repeat(201) } });
  const { requests } = await call("GET /api/webhooks/{id}/requests", 200, one);
  const request = requests.find(({ outcome }: Fields) => outcome === "recorded").id;
  const resend = { query: project, params: { ...one.params, request } };
  await call("POST /api/webhooks/{id}/requests/{request}/resend", 200, resend);
  await call("DELETE /api/webhooks/{id}", 200, one);
});

test("buttons in chats", async () => {
  await using receiver = await destinationReceiver();
  const chat = chatAlerts(app, receiver);
  const slackSecret = "8f742231b10e8888abcd99yyyzzz85a5";
  const slack = { ...receiver.settings.slack, signingSecret: slackSecret };
  const { message } = await chat.open(await chat.addDestination("slack", slack));
  const responseUrl = `${receiver.origin}/actions/T1/1/response`;
  const answered = receiver.inspectNext();
  const click = slackClick(message, "resolve", { secret: slackSecret, responseUrl });
  await call("POST /interactions/slack", 200, { as: "nobody", ...click });
  await answered;
  const forged = slackClick(message, "resolve", { secret: "another", responseUrl });
  await call("POST /interactions/slack", 401, { as: "nobody", ...forged });

  const { publicKey: verifying, privateKey } = generateKeyPairSync("ed25519");
  const publicKey = verifying.export({ type: "spki", format: "der" }).subarray(-32).toString("hex");
  const discord = { ...receiver.settings.discord, publicKey };
  const told = (await chat.open(await chat.addDestination("discord", discord))).message;
  const by = { as: "nobody", params: { publicKey } } as const;
  const operation = "POST /interactions/discord/{publicKey}";
  const post = (status: number, payload: object) =>
    call(operation, status, { ...by, ...discordInteraction(payload, privateKey) });
  const data = { custom_id: discordButtonsOf(told)[0]!.custom_id };
  const user = { username: "ann", global_name: "Ann" };
  expect(await post(200, { type: 1 })).toEqual({ type: 1 });
  expect(await post(200, { type: 3, data, user })).toMatchObject({ type: 7 });
  expect(await post(200, { type: 3, data, user })).toMatchObject({ type: 4 });
  await call(operation, 401, { ...by, body: { type: 1 } });

  const telegram = { as: "nobody", ...telegramClick(`r${"A".repeat(63)}`, "secret") } as const;
  // Nothing is done: the person is told that the button leads nowhere.
  const nothing = await contract.call(app, session, "POST /interactions/telegram", 200, telegram);
  expect(nothing).toMatchObject({ show_alert: true });
  // Telegram posts only to addresses with HTTPS.
  await using secure = await testApp({ allowPrivateAddresses: true, url: "https://tidings.example.com" });
  const bot = chatAlerts(secure, receiver);
  const settings = { ...receiver.settings.telegram, buttons: true };
  const asked = (await bot.open(await bot.addDestination("telegram", settings))).message;
  const { secret_token: secret } = receiver.calls[0]!.body as { secret_token: string };
  const { callback_data } = telegramButtonsOf(asked)[0]!;
  await contract.call(secure, {}, "POST /interactions/telegram", 200, {
    as: "nobody",
    ...telegramClick(callback_data, secret),
  });
});

test("heartbeats", async () => {
  const schedule = { type: "cron", expression: "30 2 * * *", timeZone: "Europe/Berlin" };
  const job = { name: "Nightly backup", schedule };
  const created = await call("POST /api/heartbeats", 201, { query: project, body: job });
  const one = { query: project, params: { id: created.heartbeat.id } };
  await call("POST /api/heartbeats/preview", 200, { query: project, body: { schedule } });
  await call("PATCH /api/heartbeats/{id}", 200, { ...one, body: { graceMinutes: 5 } });
  const { url } = await call("POST /api/heartbeats/{id}/rotate", 200, one);
  await call("GET /api/heartbeats/{id}/url", 200, one);
  const token = url.split("/").at(-1)!;
  for (const method of ["GET", "POST"]) {
    const by = { as: "nobody" } as const;
    await call(`${method} /ping/{token}`, 200, { ...by, params: { token } });
    await call(`${method} /ping/{token}/{end}`, 200, { ...by, params: { token, end: "start" } });
    const end = { key: app.key, slug: "nightly-backup", end: "0" };
    await call(`${method} /ping/{key}/{slug}/{end}`, 200, { ...by, params: end });
  }
  await call("GET /api/heartbeats/{id}/pings", 200, one);
  const { heartbeat } = await call("POST /api/heartbeats/{id}/badge", 201, one);
  const badge = heartbeat.badgeUrl.split("/").at(-1)!;
  await call("GET /badge/{badge}", 200, { as: "nobody", params: { badge } });
  await call("GET /api/heartbeats", 200, { as: "key" });
  await call("GET /api/heartbeats/{id}", 200, { as: "key", params: one.params });
  await call("DELETE /api/heartbeats/{id}/badge", 200, one);
  await call("DELETE /api/heartbeats/{id}", 200, one);
});

test("websites", async () => {
  const key = await websiteKey(app);
  const by = { as: "nobody" } as const;
  const script = await fetch(`${app.address}/t.js`);
  const version = `${/"(\w+)"/.exec(script.headers.get("etag")!)![1]}.js`;
  await call("GET /t.js", 200, by);
  await call("GET /s/{name}", 200, { ...by, params: { name: "app.js" } });
  await call("GET /t/{version}", 200, { ...by, params: { version } });
  await call("GET /s/{name}/{version}", 200, { ...by, params: { name: "app", version } });
  await call("POST /t", 204, { ...by, body: { key, events: [pageEvent()] } });
  await call("POST /s/{name}", 204, { ...by, params: { name: "app" }, body: { key, events: [pageEvent()] } });
  await call("POST /t", 403, { ...by, body: { key: app.key, events: [pageEvent()] } });
});

test("on-call schedules", async () => {
  const { members } = await call("GET /api/members", 200, { query: project });
  const rotation = { members: [members[0].id], every: 1, unit: "week", at: "09:00", startsOn: "2026-03-02" };
  const backend = { name: "Backend", timeZone: "Europe/Berlin", rotations: [rotation] };
  const { schedule } = await call("POST /api/on-call", 201, { query: project, body: backend });
  const one = { query: project, params: { id: schedule.id } };
  await call("PATCH /api/on-call/{id}", 200, { ...one, body: { notify: false } });
  const body = { from: new Date().toISOString(), to: new Date(Date.now() + 3_600_000).toISOString() };
  const { override } = await call("POST /api/on-call/{id}/overrides", 201, { ...one, body });
  for (const path of ["", "/now", "/{id}", "/{id}/shifts", "/{id}/overrides"])
    await call(`GET /api/on-call${path}`, 200, { as: "key", params: one.params });
  const params = { ...one.params, override: override.id };
  await call("DELETE /api/on-call/{id}/overrides/{override}", 200, { ...one, params });
  await call("DELETE /api/on-call/{id}", 200, one);
});

test("reports", async () => {
  const { boards } = await call("GET /api/boards", 200, { query: project });
  const sent = Promise.withResolvers<{ data: { picture: string } }>();
  using receiver = Bun.serve({
    port: 0,
    async fetch(request) {
      sent.resolve((await request.json()) as { data: { picture: string } });
      return new Response();
    },
  });
  const hook = { kind: "webhook", name: "Reports", settings: { url: receiver.url.href } };
  const { destination } = await call("POST /api/project-destinations", 201, { query: project, body: hook });
  const schedule = { every: "month", day: 31, at: "08:00", timeZone: "Europe/Berlin" };
  const body = { board: boards[0].id, destination: destination.id, schedule };
  const { report } = await call("POST /api/reports", 201, { query: project, body });
  const one = { query: project, params: { id: report.id } };
  await call("PATCH /api/reports/{id}", 200, { ...one, body: { enabled: false } });
  await call("POST /api/reports/{id}/send", 200, one);
  await call("GET /api/reports", 200, { as: "key" });
  await call("GET /api/reports/{id}", 200, { as: "key", params: one.params });
  await call("GET /api/reports/preview", 200, { query: `${project}&board=${boards[0].id}` });
  const picture = (await sent.promise).data.picture.split("/").at(-1)!;
  await call("GET /reports/{picture}", 200, { as: "nobody", params: { picture } });
  await call("DELETE /api/reports/{id}", 200, one);
});

test("accounts", async () => {
  for (const path of ["/api/me", "/api/account", "/api/sessions", "/api/status"])
    await call(`GET ${path}`, 200);
  await call("PATCH /api/account", 200, { body: { name: "Ada" } });
  await call("POST /api/account/email", 403, { body: { email: "x@example.com", password: "wrong" } });
  const change = { email: "new-owner@example.com", password: testPassword };
  await call("POST /api/account/email", 200, { body: change });
  const changed = await emailTo(change.email);
  await call("POST /api/account/email/confirm", 200, { body: { token: tokenIn(changed) } });

  const told = await emailTo(app.owner, "The email address of your Tidings account was changed");
  const restoring = { as: "nobody", body: { token: tokenIn(told) } } as const;
  const restored = await call("POST /api/account/email/restore", 200, restoring);
  const reset = { token: restored.token, newPassword: testPassword };
  await call("POST /api/auth/reset-password", 200, { as: "nobody", body: reset });
  await call("POST /api/auth/reset-password", 403, { as: "nobody", body: reset });
  session = { cookie: await app.signIn(), origin: app.address };

  const { control } = app.running.store;
  const [account] = await control.selectFrom("accounts").select("id").execute();
  // Adding one takes a browser with an authenticator.
  const values = { publicKey: "k", credentialId: "c", counter: 0, deviceType: "d", backedUp: 0 };
  const passkey = { id: "p1", userId: account!.id, name: "Laptop", createdAt: null, ...values };
  await control.insertInto("passkeys").values(passkey).execute();
  await call("PATCH /api/account/passkeys/{id}", 200, { params: { id: "p1" }, body: { name: "Phone" } });
  await call("DELETE /api/account/passkeys/{id}", 200, { params: { id: "p1" } });

  await app.signIn();
  const { sessions } = await call("GET /api/sessions", 200);
  const other = sessions.find(({ isCurrent }: { isCurrent: boolean }) => !isCurrent);
  await call("DELETE /api/sessions/{id}", 200, { params: { id: other.id } });
  await call("DELETE /api/sessions", 200);

  await call("GET /api/setup", 200, { as: "nobody" });
  await call("GET /api/sign-in", 200, { as: "nobody" });
  await call("POST /api/sign-in/provider", 200, { as: "nobody", body: {} });
  await call("POST /api/password-reset", 200, { as: "nobody", body: { email: change.email } });
  const signUp = { as: "nobody", body: { email: "grace@example.com" } } as const;
  await call("POST /api/sign-up", 201, signUp);
  const link = await emailTo("grace@example.com");
  const confirmation = { token: tokenIn(link), password: testPassword };
  await call("POST /api/sign-up/confirm", 201, { as: "nobody", body: confirmation });
  const grace = { cookie: await app.signIn("grace@example.com"), origin: app.address };
  const deletion = { as: "nobody", headers: grace, body: { password: testPassword } } as const;
  await call("POST /api/account/delete", 200, deletion);
});

test("the first account", async () => {
  const config = await testConfig();
  const running = await serve(config, { passwords: testPasswords });
  try {
    const token = new URL(running.setupLink!).searchParams.get("token")!;
    const body = { token, email: "first@example.com", password: testPassword };
    const at = { ...app, address: running.address };
    await contract.call(at, {}, "POST /api/setup", 201, { as: "nobody", body });
    await contract.call(at, {}, "POST /api/setup", 409, { as: "nobody", body });
  } finally {
    await running.stop();
    await removeStorage(config);
  }
});

test("status and assistants", async () => {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  await call("POST /mcp", 200, { as: "key", body: message });
  await call("GET /healthz", 200, { as: "nobody" });
  await call("GET /readyz", 200, { as: "nobody" });
});

test("every operation has succeeded once", () => {
  expect(contract.withoutSuccess().filter(({ tag }) => tag !== "Drop-in endpoints")).toEqual([]);
});

test("every change is in the audit log, or says why not", () => {
  const silent = [...isAudited].flatMap(([operation, isInLog]) =>
    isInLog || sometimesAudited.includes(operation) ? [] : [operation],
  );
  expect(silent.toSorted()).toEqual(Object.values(notAudited).flat().toSorted());
});
