import type { Servers } from "../kept-servers.ts";
import { expiringChannel } from "./events.ts";
import type { State } from "./state.ts";

const email = "soak@example.com";
const password = "password-of-the-soak";

/** Calls the API with a key, or with a session's cookie. */
export async function call<Body>(
  address: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<Body> {
  const response = await fetch(address + path, {
    method,
    headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Body;
}

/** Creates the account and its key, with commands, before the servers start. Returns the key. */
export async function createKey(servers: Servers): Promise<string> {
  await servers.command(["account", "create", "--email", email, "--password-stdin"], password);
  const scopes = ["--scopes", "ingest,read,manage"];
  return (
    await servers.command(["key", "create", "--project", "default", "--name", "soak", ...scopes])
  ).trim();
}

/** Creates what runs beside the events: rules, monitors, a board, cohorts, heartbeats, and a webhook. */
export async function createSettings(
  address: string,
  apiKey: string,
  receiver: string,
): Promise<Omit<State, "engine" | "runs" | "erased" | "apiKey">> {
  const byKey = <Body>(method: string, path: string, body?: unknown) =>
    call<Body>(address, method, path, { "x-api-key": apiKey }, body);

  const { destination } = await byKey<{ destination: { id: string } }>("POST", "/api/project-destinations", {
    ...{ kind: "webhook", name: "Receiver", settings: { url: receiver } },
  });
  const to = { everyone: true, members: [], destinations: [destination.id] };
  const rules = [
    { name: "Check failed", q: "name:Check state=failed", when: { type: "each" }, resolve: "state=ok" },
    { name: "Failed payments", q: 'name:"Payment failed"', when: { type: "burst", minutes: 5 } },
    { name: "Nothing arrives", q: "channel:channel-1", when: { type: "silence", minutes: 2 } },
    { name: "Many events", q: "channel:channel-2", when: { type: "count", above: 1_000, minutes: 10 } },
    { name: "Server silent", q: "name:Check", when: { type: "silence", minutes: 5 }, forEach: "tag.server" },
    {
      name: "Events of a quarter",
      q: "channel:channel-3",
      when: { type: "metric", measure: { metric: "events" }, minutes: 15, above: 50 },
    },
    {
      name: "Amount of a quarter",
      q: "plan=pro",
      when: { type: "metric", measure: { metric: "average", tag: "amount" }, minutes: 15, above: 49_000 },
    },
  ];
  for (const rule of rules) await byKey("POST", "/api/rules", { ...rule, to });

  const place = { x: 0, y: 0, w: 4, h: 4 };
  const { board } = await byKey<{ board: { id: string } }>("POST", "/api/boards", {
    name: "Soak",
    tiles: [
      { id: "line", type: "line", ...place, split: "channel" },
      { id: "users", type: "number", ...place, metric: "users" },
      { id: "table", type: "table", ...place, split: "name" },
      { id: "funnel", type: "funnel", ...place, steps: ["channel:channel-1", "channel:channel-2"] },
      { id: "feed", type: "feed", ...place },
      { id: "alerts", type: "alerts", ...place },
      { id: "cycle", type: "lifecycle", ...place },
    ],
  });

  const cohortIds: string[] = [];
  for (const [name, q] of [
    ["Payers", 'name:"Payment received"'],
    ["Failing", "verb:failed plan=plus"],
  ] as const) {
    const conditions = [{ type: "events", q, atLeast: 2, days: 7 }];
    const { cohort } = await byKey<{ cohort: { id: string } }>("POST", "/api/cohorts", { name, conditions });
    cohortIds.push(cohort.id);
  }

  const heartbeats: string[] = [];
  for (const name of ["Steady", "Sometimes late"]) {
    const schedule = { type: "period", minutes: 1 };
    const { url } = await byKey<{ url: string }>("POST", "/api/heartbeats", {
      ...{ name, schedule, graceMinutes: 1 },
    });
    heartbeats.push(new URL(url).pathname);
  }

  // Its own retention: a project keeps events for days, and a soak wants to see them expire.
  await byKey("POST", "/api/channels", { name: expiringChannel });
  await byKey("PATCH", `/api/channels/${expiringChannel}`, { retentionDays: 1 });
  return {
    boardId: board.id,
    cohortIds,
    heartbeats,
    destinationId: destination.id,
    webhook: await createWebhook(address),
  };
}

/** Creates a webhook, which only a session may. Returns the path to send to. */
async function createWebhook(address: string): Promise<string> {
  const signedIn = await fetch(`${address}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: address },
    body: JSON.stringify({ email, password }),
  });
  if (!signedIn.ok) throw new Error(`Signing in answered ${signedIn.status}: ${await signedIn.text()}`);
  const cookie = signedIn.headers
    .getSetCookie()
    .map((text) => text.split(";")[0])
    .join("; ");
  const mapping = { name: "Subscribed", userId: "{{email}}", id: "{{delivery}}", tags: { list: "{{list}}" } };
  const { url } = await call<{ url: string }>(
    address,
    "POST",
    "/api/webhooks?project=default",
    { cookie, origin: address },
    { name: "Newsletter", source: "plain", channel: "newsletter", mapping },
  );
  return new URL(url).pathname;
}
