/**
 * Takes a screenshot of each page of the dashboard, with a populated database, in both themes.
 *
 *   npm run screenshots                    replaces docs/screenshots/, for a desktop and a phone
 *   npm run screenshots -- /tmp/shots      writes there, also for a small laptop and a tablet
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { launchChromium } from "./chromium.ts";
import { runTidings, startServer } from "./server-process.ts";

const customTarget = process.argv[2];
const target = customTarget ?? join(import.meta.dir, "../../docs/screenshots");
const desktop = { width: 1440, height: 900 };
const sizes = {
  "": desktop,
  "-phone": { width: 390, height: 844 },
  ...(customTarget && { "-laptop": { width: 1024, height: 768 }, "-tablet": { width: 768, height: 1024 } }),
};
const themes = ["light", "dark"] as const;
const demo = { email: "demo@example.com", password: "tidings-demo" };

const dataDirectory = mkdtempSync(join(tmpdir(), "tidings-screenshots-"));
const emptyDirectory = mkdtempSync(join(tmpdir(), "tidings-screenshots-"));
mkdirSync(target, { recursive: true });

const sampleDestinations = [
  {
    kind: "slack",
    name: "Slack #shop",
    settings: { url: "https://hooks.slack.com/services/T00000000/B00000000/0123456789abcdefghijklmn" },
  },
  { kind: "ntfy", name: "On call", settings: { topic: "shop-7f3c9a" } },
];

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

const browser = await launchChromium();
try {
  await shootSetup(browser);
  await shootPages(browser);
} finally {
  await browser.close();
  for (const directory of [dataDirectory, emptyDirectory])
    rmSync(directory, { recursive: true, force: true });
}

/** The setup page, and the page that waits for the first event. */
async function shootSetup(browser: Browser): Promise<void> {
  const server = await startServer({ TIDINGS_DATA: emptyDirectory });
  const link = /\/setup\?token=[\w-]+/.exec(server.stdout)![0];
  await forEachVariant(browser, async (page, variant) => {
    await page.goto(server.address + link);
    await shoot(page, `setup${variant}`);
  });
  const page = await browser.newPage({ viewport: desktop, colorScheme: "light" });
  await page.goto(server.address + link);
  await page.getByLabel("Email").fill(demo.email);
  await page.getByLabel("Password", { exact: true }).fill(demo.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("Waiting for your first event").first().waitFor();
  await shoot(page, "waiting-light");
  await page.close();
  await server.end("SIGTERM");
}

/** The pages of a shop with a month of events. */
async function shootPages(browser: Browser): Promise<void> {
  const environment = { TIDINGS_DATA: dataDirectory };
  await runTidings(["seed"], environment);
  const { stdout } = await runTidings(
    ["key", "create", "--project", "default", "--name", "Shop", "--scopes", "ingest,read,manage"],
    environment,
  );
  const server = await startServer(environment);
  const events = [
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
    {
      channel: "payments",
      name: "Payment failed",
      icon: "⚠️",
      userId: "cus_1187",
      notify: true,
      tags: { amount: "184.50", currency: "EUR", method: "card", reason: "card_declined" },
      description:
        "The bank declined the card **twice**. The customer was asked for another one.\n\n- order kept for 24 hours\n- next attempt is theirs",
    },
    {
      channel: "payments",
      name: "Payment received",
      icon: "💰",
      userId: "cus_1042",
      tags: { amount: "96.00", currency: "EUR", method: "paypal", plan: "pro" },
    },
  ];
  const post = (body: unknown, path = "/api/events"): Promise<Response> =>
    fetch(server.address + path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": stdout.trim() },
      body: JSON.stringify(body),
    });
  const destinations: string[] = [];
  for (const destination of sampleDestinations) {
    const response = await post(destination, "/api/project-destinations");
    destinations.push(((await response.json()) as { destination: { id: string } }).destination.id);
  }
  for (const { everyone, ...rule } of sampleRules)
    await post({ ...rule, to: { everyone, members: [], destinations } }, "/api/rules");
  await post({ channel: "orders", nme: "Order placed", userId: "cus_1042", tags: { quantity: 2 } });
  await post({ channel: "backups", name: "Backup done", tags: { database: "shop", minutes: 4.5 } });
  const headers = { "x-api-key": stdout.trim() };
  const listed = await fetch(`${server.address}/api/boards`, { headers });
  const { boards } = (await listed.json()) as { boards: { id: string; name: string }[] };
  const shopBoard = boards.find(({ name }) => name === "Shop")!;
  const ids: string[] = [];
  for (const event of events) {
    const response = await post(event);
    ids.push(((await response.json()) as { event: { id: string } }).event.id);
  }
  // Only a session can create them.
  let hasWebhooks = false;
  await forEachVariant(browser, async (page, variant) => {
    await page.goto(`${server.address}/sign-in`);
    await shoot(page, `sign-in${variant}`);
    await page.getByLabel("Email").fill(demo.email);
    await page.getByLabel("Password", { exact: true }).fill(demo.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("article").first().waitFor();
    await saveViews(page);
    if (!hasWebhooks) for (const webhook of sampleWebhooks) await addWebhook(page, server.address, webhook);
    hasWebhooks = true;
    const pages = {
      feed: variant.startsWith("-phone") ? "/p/default" : `/p/default/events/${ids[2]}`,
      event: `/p/default/events/${ids[2]}`,
      channel: "/p/default/channels/payments",
      search: "/p/default?q=card%20-refund&tag.currency=EUR",
      users: "/p/default/users",
      user: "/p/default/users/cus_1042",
      board: `/p/default/boards/${shopBoard.id}?range=30d`,
      keys: "/p/default/keys",
      members: "/p/default/members",
      rules: "/p/default/rules",
      destinations: "/p/default/destinations",
      deliveries: "/p/default/deliveries",
      webhooks: "/p/default/webhooks",
      rejected: "/p/default/rejected",
      settings: "/p/default/settings",
      notifications: "/notifications",
    };
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(server.address + path);
      await shoot(page, name + variant);
    }
  });
  await server.end("SIGTERM");
}

/** Saves the sample views once, and pins a channel. */
async function saveViews(page: Page): Promise<void> {
  const { origin } = new URL(page.url());
  const path = (name: string) => `${origin}/api/${name}?project=default`;
  const headers = { origin };
  const { views } = (await (await page.request.get(path("views"))).json()) as { views: unknown[] };
  if (views.length > 0) return;
  for (const data of sampleViews) await page.request.post(path("views"), { data, headers });
  await page.request.put(path("sidebar/pins"), { data: { channels: ["payments"] }, headers });
}

async function addWebhook(page: Page, address: string, webhook: object): Promise<void> {
  const headers = { origin: address };
  await page.request.post(`${address}/api/webhooks?project=default`, { data: webhook, headers });
}

async function forEachVariant(
  browser: Browser,
  work: (page: Page, variant: string) => Promise<void>,
): Promise<void> {
  for (const [size, viewport] of Object.entries(sizes)) {
    for (const colorScheme of themes) {
      const context = await browser.newContext({ viewport, colorScheme });
      // This Chromium blocks notifications; a user's browser asks first.
      await context.addInitScript(
        'Object.defineProperty(Notification, "permission", { get: () => "default" })',
      );
      await work(await context.newPage(), `${size}-${colorScheme}`);
      await context.close();
    }
  }
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.waitForLoadState("load");
  // Because of the live stream the network is never idle, so give the page this long to settle.
  await page.waitForTimeout(900);
  await page.screenshot({ path: join(target, `${name}.png`) });
}
