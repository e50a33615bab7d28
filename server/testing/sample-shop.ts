import { destinationReceiver } from "./destination-receiver.ts";
import { runTidings, startServer } from "./server-process.ts";
import { until } from "./until.ts";

export const demo = { email: "demo@example.com", password: "tidings-demo" };

const sampleDestinations = [
  { kind: "slack", name: "Slack #shop" },
  { kind: "ntfy", name: "On call" },
] as const;

const sampleRules = [
  {
    name: "Failed payments",
    q: 'channel:payments name:"Payment failed"',
    when: { type: "burst", minutes: 5 },
    everyone: true,
  },
  {
    name: "Backup missing",
    q: 'name:"Backup done"',
    when: { type: "silence", minutes: 26 * 60 },
    everyone: false,
    urgent: true,
  },
  {
    name: "Large orders",
    q: "channel:payments",
    when: { type: "number", tag: "amount", above: 150 },
    everyone: true,
  },
];

const sampleViews = [
  { name: "Failed payments", q: 'channel:payments name:"Payment failed"', shared: true },
  { name: "Orders from Japan", q: "channel:orders country=JP" },
];

const sampleWebhooks = [
  { name: "Stripe", source: "stripe", channel: "payments", mapping: null, secret: "whsec_sample" },
  {
    name: "Newsletter",
    source: "plain",
    channel: "marketing",
    mapping: { name: "Subscribed", userId: "{{email}}", tags: { list: "{{list.name}}" } },
  },
];

const rejectedEvents = [
  { channel: "orders", nme: "Order placed", userId: "cus_1042", tags: { quantity: 2 } },
  { channel: "backups", name: "Backup done", tags: { database: "shop", minutes: 4.5 } },
];

const failedPayment = {
  channel: "payments",
  name: "Payment failed",
  icon: "⚠️",
  userId: "cus_1187",
  notify: true,
  tags: { amount: "184.50", currency: "EUR", method: "card", reason: "card_declined" },
  description:
    "The bank declined the card **twice**. The customer was asked for another one.\n\n- order kept for 24 hours\n- next attempt is theirs",
};

const newestEvents = [
  {
    channel: "deployments",
    name: "Deployed to production",
    icon: "🚀",
    notify: true,
    tags: { service: "checkout", version: "2.49.0", by: "mira" },
  },
  {
    channel: "orders",
    name: "Order placed",
    icon: "🛒",
    userId: "cus_1042",
    tags: { product: "Geisha Reserve", quantity: "2", country: "JP" },
  },
  failedPayment,
  {
    channel: "payments",
    name: "Payment received",
    icon: "💰",
    userId: "cus_1042",
    tags: { amount: "96.00", currency: "EUR", method: "paypal", plan: "pro" },
  },
];

type Cookie = { name: string; value: string };

export type SampleShop = Awaited<ReturnType<typeof startShop>>;

/**
 * Starts a server with a shop's events of two months (`npm run seed`) and something on each page: destinations, rules,
 * silences, deliveries, rejected events, views, a pinned channel, webhooks, heartbeats, an on-call schedule, reports,
 * an invitation, and a board with a public link.
 */
export async function startShop(dataDirectory: string) {
  const receiver = await destinationReceiver();
  const environment = { TIDINGS_DATA: dataDirectory, TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true" };
  await runTidings(["seed"], environment);
  const { stdout } = await runTidings(
    ["key", "create", "--project", "default", "--name", "Shop", "--scopes", "ingest,read,manage"],
    environment,
  );
  const server = await startServer(environment);
  const { address } = server;
  const cookies = await signIn(address);
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");

  /** Calls the API, as the demo account if only a session may. */
  async function call<Body>(method: string, path: string, body?: unknown, by: "key" | "session" = "key") {
    const response = await fetch(`${address}${path}${by === "session" ? "?project=default" : ""}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(by === "session" ? { cookie, origin: address } : { "x-api-key": stdout.trim() }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Body;
  }

  const destinations: string[] = [];
  for (const sample of sampleDestinations) {
    const { destination } = await call<{ destination: { id: string } }>("POST", "/api/project-destinations", {
      ...sample,
      settings: receiver.settings[sample.kind],
    });
    destinations.push(destination.id);
  }
  for (const { everyone, ...rule } of sampleRules)
    await call("POST", "/api/rules", { ...rule, to: { everyone, members: [], destinations } });
  const cohortId = await addCohorts(call);
  await addGroups(call);
  const monitorId = await addMonitor(call);
  await addAlerts(call);
  await addSilences(call);
  for (const event of rejectedEvents) await call("POST", "/api/events", event);
  for (const view of sampleViews) await call("POST", "/api/views", view, "session");
  await call("PUT", "/api/sidebar/pins", { channels: ["payments"] }, "session");
  for (const webhook of sampleWebhooks) await call("POST", "/api/webhooks", webhook, "session");
  const heartbeatId = await addHeartbeats(call);
  await addOnCall(call);
  await call("POST", "/api/invitations", { role: "viewer", email: "mira@example.com" }, "session");
  // One delivery fails at first, so that the pages show that too.
  receiver.answerNext(503, "no_service");
  const ids: string[] = [];
  for (const event of newestEvents)
    ids.push((await call<{ event: { id: string } }>("POST", "/api/events", event)).event.id);
  const { boards } = await call<{ boards: { id: string; name: string }[] }>("GET", "/api/boards", undefined);
  const board = boards.find(({ name }) => name === "Shop")!.id;

  await addReports(call, board, destinations[0]!);

  return {
    address,
    cookies,
    call,
    eventId: ids[newestEvents.indexOf(failedPayment)]!,
    boardId: board,
    heartbeatId,
    monitorId,
    cohortId,
    /** Creates the public link of the shop's board and returns its path. */
    async publicBoard(): Promise<string> {
      const { link } = await call<{ link: string }>(
        "POST",
        `/api/boards/${board}/link`,
        undefined,
        "session",
      );
      return new URL(link).pathname;
    },
    async stop() {
      await server.end("SIGTERM");
      await receiver[Symbol.asyncDispose]();
    },
  };
}

/** Adds two heartbeats. Returns the id of the one that was pinged. */
async function addHeartbeats(
  call: <Body>(method: string, path: string, body: unknown) => Promise<Body>,
): Promise<string> {
  const berlin = { type: "cron", expression: "0 9 * * 1-5", timeZone: "Europe/Berlin" };
  await call("POST", "/api/heartbeats", { name: "Invoices", schedule: berlin });
  const backup = { name: "Nightly backup", channel: "backups", schedule: { type: "period", minutes: 1_440 } };
  const { heartbeat, url } = await call<{ heartbeat: { id: string }; url: string }>(
    "POST",
    "/api/heartbeats",
    backup,
  );
  await fetch(url, { method: "POST", body: "14 tables, 1.2 GB" });
  return heartbeat.id;
}

/** Adds a schedule in which the demo account is on call on weekdays, and in an override. */
async function addOnCall(call: Call): Promise<void> {
  const { members } = await call<{ members: { id: string }[] }>("GET", "/api/members", undefined, "session");
  const hours = {
    days: ["monday", "tuesday", "wednesday", "thursday", "friday"],
    from: "09:00",
    to: "18:00",
  };
  const turn = { members: [members[0]!.id], every: 1, unit: "week", at: "09:00", startsOn: "2026-01-05" };
  const { schedule } = await call<{ schedule: { id: string } }>("POST", "/api/on-call", {
    ...{ name: "Shop", timeZone: "Europe/Berlin", notify: false },
    rotations: [{ ...turn, hours }],
  });
  const dayMs = 24 * 60 * 60 * 1_000;
  const from = Date.now() + 2 * dayMs;
  await call(
    "POST",
    `/api/on-call/${schedule.id}/overrides`,
    { from: String(from), to: String(from + dayMs) },
    "session",
  );
}

/** Adds reports of the board, each week and each month, and sends one. */
async function addReports(call: Call, board: string, destination: string): Promise<void> {
  const time = { at: "08:00", timeZone: "Europe/Berlin" };
  const weekly = { board, destination, schedule: { every: "week", weekday: "monday", ...time } };
  const { report } = await call<{ report: { id: string } }>("POST", "/api/reports", weekly);
  await call("POST", `/api/reports/${report.id}/send`);
  await call("POST", "/api/reports", { board, destination, schedule: { every: "month", day: 1, ...time } });
}

/** Signs in as the account that `npm run seed` creates; returns the session's cookies. */
async function signIn(address: string): Promise<Cookie[]> {
  const response = await fetch(`${address}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: address },
    body: JSON.stringify(demo),
  });
  if (!response.ok) throw new Error(`Signing in answered ${response.status}: ${await response.text()}`);
  return response.headers.getSetCookie().map((text) => {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(text)!;
    return { name: name!, value: value! };
  });
}

type Call = <Body>(method: string, path: string, body?: unknown, by?: "key" | "session") => Promise<Body>;

/** Adds companies with some of the users, a team, and notes about the user whose page is shown. */
async function addGroups(call: Call): Promise<void> {
  const { users } = await call<{ users: { userId: string }[] }>("GET", "/api/users?sort=events&limit=12");
  const companies = [
    [
      "hooli",
      { name: "Hooli", plan: "team", seats: 24, country: "US" },
      ["cus_1042", ...users.slice(0, 5).map(({ userId }) => userId)],
    ],
    ["initech", { name: "Initech", plan: "pro", seats: 3 }, users.slice(5, 8).map(({ userId }) => userId)],
    ["umbrella", { name: "Umbrella", plan: "free" }, users.slice(8, 12).map(({ userId }) => userId)],
    ["acme", {}, []],
  ] as const;
  for (const [id, properties, members] of companies) {
    await call("POST", "/api/groups", { type: "company", id, properties });
    for (const userId of members) await call("POST", "/api/groups", { type: "company", id, userId });
  }
  await call("POST", "/api/groups", { type: "team", id: "checkout", userId: "cus_1042" });
  for (const text of [
    "Wants invoices by post.",
    "Called on Monday: the card was replaced, all is well again.",
  ])
    await call("POST", "/api/users/cus_1042/notes", { text }, "session");
}

/** Adds cohorts of each kind of condition. Returns the id of one. */
async function addCohorts(call: Call): Promise<string> {
  const add = (name: string, body: object) =>
    call<{ cohort: { id: string } }>("POST", "/api/cohorts", { name, ...body });
  const { cohort } = await add("Regulars", {
    conditions: [
      { type: "property", name: "plan", test: "is", values: ["pro", "team"] },
      { type: "events", q: "channel:payments", atLeast: 2, days: 30 },
    ],
  });
  await add("Stopped paying", {
    conditions: [
      { type: "events", q: "channel:payments" },
      { type: "events", q: "channel:payments", atMost: 0, days: 14 },
    ],
  });
  await add("New this week", { conditions: [{ type: "firstSeen", withinDays: 7 }] });
  return cohort.id;
}

/** Adds a rule about the amounts of payments. Returns its id. */
async function addMonitor(call: Call): Promise<string> {
  const { rule } = await call<{ rule: { id: string } }>("POST", "/api/rules", {
    name: "Sales of a day",
    q: "channel:payments",
    when: {
      ...{ type: "metric", measure: { metric: "sum", tag: "amount" }, minutes: 1_440 },
      ...{ below: 6_000, clear: 7_000, pendingMinutes: 60 },
    },
    to: { everyone: true, members: [], destinations: [] },
  });
  return rule.id;
}

/** Adds rules for servers, one of them for each server, and an alert of each state. */
async function addAlerts(call: Call): Promise<void> {
  const rules = [
    { name: "Disk of the database", q: 'name:"Disk full" server=db-1', urgent: true, remindMinutes: 60 },
    { name: "Load of a server", q: "name:Overload", forEach: "tag.server", groupBy: "tag.rack" },
    { name: "Queue of payments", q: 'name:"Queue grows"' },
    { name: "Certificate of the shop", q: 'name:"Certificate expires"' },
  ];
  for (const rule of rules)
    await call("POST", "/api/rules", {
      ...{ ...rule, when: { type: "each" }, resolve: "state=ok" },
      to: { everyone: false, members: [], destinations: await destinationIds(call) },
    });
  const events = [
    { name: "Certificate expires", tags: { days: "7" } },
    { name: "Certificate renewed", tags: { state: "ok" } },
    { name: "Queue grows", tags: { waiting: "1204" } },
    { name: "Overload", tags: { server: "web-2", rack: "r1" } },
    { name: "Disk full", tags: { server: "db-1", used: "97" } },
    { name: "Disk full", tags: { server: "db-1", used: "98" } },
  ];
  for (const event of events) await call("POST", "/api/events", { channel: "servers", ...event });
  const list = () => call<{ alerts: { id: string; title: string }[]; open: number }>("GET", "/api/alerts");
  await until(async () => (await list()).alerts.length === rules.length && (await list()).open === 3);
  const { alerts } = await list();
  const { id } = alerts.find(({ title }) => title === "Queue of payments")!;
  await call("POST", `/api/alerts/${id}/acknowledge`, { minutes: 240 }, "session");
}

/** Adds a silence that is planned, and one that has ended. */
async function addSilences(call: Call): Promise<void> {
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const { silence } = await call<{ silence: { id: string } }>("POST", "/api/silences", {
    reason: "Deployment of the checkout",
    q: "service=checkout",
    to: inHours(1),
  });
  await call("POST", `/api/silences/${silence.id}/end`);
  const move = { reason: "Move of the database", q: "server=db-1", from: inHours(20), to: inHours(22) };
  await call("POST", "/api/silences", move, "session");
}

async function destinationIds(call: Call): Promise<string[]> {
  type List = { destinations: { id: string }[] };
  return (await call<List>("GET", "/api/project-destinations")).destinations.map(({ id }) => id);
}
