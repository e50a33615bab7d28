/** The dashboard end to end: a real server, a real Chromium, a real push service and a real mail server. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Running, serve } from "../serve.ts";
import { removeStorage } from "../testing/engine.ts";
import { type PushService, pushService } from "../testing/push-service.ts";
import { type SmtpInbox, smtpInbox } from "../testing/smtp-inbox.ts";
import { testConfig, testPasswords } from "../testing/test-app.ts";
import { chooseAction, expectAccessible as expectPageAccessible, openPage } from "./browser/browser-page.ts";
import { launchChromium } from "./browser/chromium.ts";

const owner = { email: "ada@example.com", password: "correct horse battery" };

let browser: Browser;
let context: BrowserContext;
let page: Page;
let running: Running;
let push: PushService;
let inbox: SmtpInbox;
let key: string;
const config = { ...(await testConfig()), rejectedDays: 30 };
let complaints: string[];

beforeAll(async () => {
  push = pushService();
  inbox = await smtpInbox();
  running = await serve({ ...config, smtpUrl: inbox.url }, { passwords: testPasswords });
  browser = await launchChromium();
  // Chromium's own push service is on the internet. The subscription comes from ours; everything else is real.
  const subscription = JSON.stringify(push.subscribe());
  context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    permissions: ["notifications"],
  });
  await context.addInitScript(`
    const given = ${subscription};
    let current = null;
    const subscription = (key) => ({
      ...given,
      options: { applicationServerKey: key },
      toJSON: () => given,
      unsubscribe: async () => ((current = null), true),
    });
    PushManager.prototype.subscribe = async ({ applicationServerKey }) => (current = subscription(applicationServerKey));
    PushManager.prototype.getSubscription = async () => current;
    Object.defineProperty(Notification, "permission", { get: () => "granted" });
    Notification.requestPermission = async () => "granted";
  `);
  ({ page, complaints } = await openPage(context));
});

afterAll(async () => {
  await browser?.close();
  await running?.stop();
  await inbox?.close();
  await push?.close();
  await removeStorage(config);
});

const expectAccessible = (what: string, at = page) => expectPageAccessible(what, at);

async function record(event: Record<string, unknown>): Promise<string> {
  const response = await fetch(`${running.address}/api/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify(event),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { event: { id: string } }).event.id;
}

describe("the first run", () => {
  test("the console's link creates the owner's account and shows the first key once", async () => {
    const link = new URL(running.setupLink!);
    await page.goto(running.address + link.pathname + link.search);
    await expectAccessible("set-up");
    await page.getByLabel("Email").fill(owner.email);
    await page.getByLabel("Password", { exact: true }).fill(owner.password);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByText("Waiting for your first event").first().waitFor();
    const text = (await page.locator("main").textContent())!;
    key = /tdg_sk_[0-9A-Za-z]{36}/.exec(text)![0];
    expect(text).toContain("/api/events");
    await expectAccessible("waiting");
  });

  test("the first event appears without a reload", async () => {
    await record({
      channel: "payments",
      name: "Payment received",
      userId: "u1",
      icon: "💰",
      tags: { plan: "pro" },
    });
    await page.getByText("Waiting for your first event").first().waitFor({ state: "hidden" });
    await page.locator("main").getByText("Payment received").first().waitFor();
    await expectAccessible("first event");
  });

  test("the link no longer works", async () => {
    const link = new URL(running.setupLink!);
    const other = await browser.newPage();
    await other.goto(running.address + link.pathname + link.search);
    await other.getByRole("link", { name: /sign in/i }).waitFor();
    await other.close();
  });
});

describe("the feed", () => {
  test("shows events as they arrive, in the feed and in their channel", async () => {
    await page.goto(`${running.address}/p/default`);
    await page.getByRole("article").first().waitFor();
    await record({ channel: "logins", name: "Signed in", userId: "u2" });
    await page.getByRole("article").filter({ hasText: "Signed in" }).waitFor();
    await expectAccessible("feed");
    await page.goto(`${running.address}/p/default/channels/payments`);
    await page.getByRole("article").filter({ hasText: "Payment received" }).waitFor();
    expect(await page.getByRole("article").filter({ hasText: "Signed in" }).count()).toBe(0);
  });

  test("is searched in the search language, with help, and stays live", async () => {
    await page.goto(`${running.address}/p/default`);
    const box = page.getByRole("combobox", { name: "Search and filter" });
    await box.fill("pay");
    await page
      .getByRole("option", { name: /payments/ })
      .first()
      .waitFor();
    await expectAccessible("suggestions");
    await box.fill("receiv* -plan=free");
    await box.press("Enter");
    await page.getByRole("article").filter({ hasText: "Signed in" }).waitFor({ state: "detached" });
    await record({ channel: "payments", name: "Payment received", userId: "u3", tags: { plan: "free" } });
    await record({ channel: "payments", name: "Money received", userId: "u3" });
    await page.getByRole("article").filter({ hasText: "Money received" }).waitFor();
    expect(await page.getByRole("article").count()).toBe(2);
    await box.fill("channel:");
    await box.press("Enter");
    await page.getByRole("alert").waitFor();
    await box.fill("user:u3 channel:payments");
    await box.press("Enter");
    await page.getByRole("button", { name: "Remove filter: user u3" }).waitFor();
    await page.reload();
    await page.getByRole("article").filter({ hasText: "Money received" }).waitFor();
    await expectAccessible("search");
  });

  test("points at a mistake in a search, and corrects it", async () => {
    await record({ channel: "orders", name: "Ordered", tags: { amount: "49.90" } });
    await record({ channel: "orders", name: "Ordered much", tags: { amount: "1200" } });
    await page.goto(`${running.address}/p/default`);
    const box = page.getByRole("combobox", { name: "Search and filter" });
    await box.fill("amount>abc");
    await box.press("Enter");
    await page.getByRole("alert").filter({ hasText: '"abc" is not a number' }).waitFor();
    expect(await page.evaluate<number>("document.activeElement.selectionStart")).toBe("amount>".length);
    expect(await page.locator("span.decoration-wavy").textContent()).toBe("abc");
    await box.fill("amount > 1,000");
    await box.press("Enter");
    await page.getByRole("alert").filter({ hasText: "without spaces" }).waitFor();
    await expectAccessible("a mistake");
    await box.fill("amount > 1000");
    await box.press("Enter");
    await page.getByRole("button", { name: "Search for amount>1000" }).click();
    await page.getByRole("article").filter({ hasText: "Ordered much" }).waitFor();
    await page.getByRole("article").filter({ hasText: "Signed in" }).waitFor({ state: "detached" });
    expect(await page.getByRole("article").count()).toBe(1);
  });

  test("shows the number of matches, live, and exports them", async () => {
    await page.goto(`${running.address}/p/default?q=${encodeURIComponent("amount>1000")}`);
    await page.getByText("1 match", { exact: true }).waitFor();
    await record({ channel: "orders", name: "Ordered more", tags: { amount: "1000.01" } });
    await record({ channel: "orders", name: "Ordered a little", tags: { amount: "1000" } });
    await page.getByText("2 matches", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Export" }).click();
    await expectAccessible("export");
    // The browser's dialog can't be used here; the file is a real one, of the origin.
    await page.evaluate(`window.showSaveFilePicker = async ({ suggestedName }) =>
      (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true })`);
    await page.getByRole("menuitem", { name: "NDJSON" }).click();
    await page.getByText("Export finished").waitFor();
    const text = await page.evaluate<string>(`navigator.storage.getDirectory()
      .then((directory) => directory.getFileHandle("default-events.ndjson"))
      .then((handle) => handle.getFile())
      .then((file) => file.text())`);
    expect(
      text
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { name: string }).name),
    ).toEqual(["Ordered more", "Ordered much"]);
    await page.evaluate("window.showSaveFilePicker = undefined");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      (async () => {
        await page.getByRole("button", { name: "Export" }).click();
        await page.getByRole("menuitem", { name: "CSV" }).click();
      })(),
    ]);
    expect(download.suggestedFilename()).toBe("events.csv");
    const csv = await Bun.file((await download.path())!).text();
    expect(csv.trim().split("\n")).toHaveLength(3);
  });

  test("loses nothing while disconnected", async () => {
    await page.goto(`${running.address}/p/default`);
    await page.getByRole("article").filter({ hasText: "Signed in" }).first().waitFor();
    await context.setOffline(true);
    await record({ channel: "logins", name: "While you were away" });
    await context.setOffline(false);
    await page.getByRole("article").filter({ hasText: "While you were away" }).waitFor();
    expect(await page.getByRole("article").filter({ hasText: "While you were away" }).count()).toBe(1);
  });

  test("shows hostile texts as text", async () => {
    const attack = '<img src=x onerror="document.title=1">';
    const id = await record({
      channel: "logins",
      name: attack,
      description: `${attack}\n\n[a link](javascript:alert(1))`,
    });
    await page.getByRole("article").filter({ hasText: attack }).waitFor();
    await page.goto(`${running.address}/p/default/events/${id}`);
    await page.getByRole("heading", { name: attack }).waitFor();
    await page.locator("main").getByText("a link", { exact: true }).waitFor();
    expect(await page.locator('main img[src="x"], a[href^="javascript:"]').count()).toBe(0);
    expect(await page.title()).not.toBe("1");
  });

  test("loads older events on scrolling", async () => {
    const events = Array.from({ length: 150 }, (_, index) => ({
      channel: "history",
      name: `Number ${index}`,
      createdAt: Date.UTC(2026, 0, 1, 0, index),
    }));
    await Promise.all(events.map(record));
    await page.goto(`${running.address}/p/default/channels/history`);
    await page.getByRole("article").filter({ hasText: "Number 149" }).waitFor();
    expect(await page.getByRole("article").count()).toBeLessThan(150);
    const oldest = page.getByRole("article").getByText("Number 0", { exact: true });
    await page.getByRole("article").first().hover();
    for (let turns = 0; turns < 60 && (await oldest.count()) === 0; turns++) {
      await page.mouse.wheel(0, 2_000);
      await page.waitForTimeout(50);
    }
    expect(await oldest.count()).toBe(1);
  });

  test("a new channel is listed at once", async () => {
    await page.goto(`${running.address}/p/default`);
    await page.getByRole("button", { name: "New channel" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("deployments");
    await expectAccessible("new channel");
    await dialog.getByRole("button", { name: "Create channel" }).click();
    await page
      .getByRole("link", { name: /deployments/ })
      .first()
      .waitFor();
    const response = await fetch(`${running.address}/api/channels`, { headers: { "x-api-key": key } });
    const { channels } = (await response.json()) as { channels: { name: string }[] };
    expect(channels.map(({ name }) => name)).toContain("deployments");
  });
});

describe("notifications", () => {
  test("a browser and an email address are turned on, and a test reaches them", async () => {
    await page.goto(`${running.address}/account/notifications`);
    await page.getByRole("switch", { name: "Push notifications on this device" }).click();
    await page.getByText("This device", { exact: true }).waitFor();
    const main = page.getByRole("main");
    await main.getByRole("button", { name: /^Actions for / }).click();
    await page.getByRole("menuitem", { name: "Send a test" }).click();
    expect((await push.next()).payload).toMatchObject({ title: "🔔 It works" });
    await page.getByRole("switch", { name: "Email notifications" }).click();
    await page.getByRole("switch", { name: "Email notifications", checked: true }).waitFor();
    await page.getByRole("button", { name: "Send a test" }).first().click();
    expect((await inbox.next()).to).toContain(owner.email);
    await page.getByText("Test sent").nth(1).waitFor();
    await expectAccessible("settings");
  });

  test("an event that notifies is in the inbox, pushed and mailed, and its page shows each delivery", async () => {
    await page.goto(`${running.address}/p/default`);
    await page.getByRole("article").first().waitFor();
    const id = await record({ channel: "payments", name: "Refund asked for", icon: "⚠️", notify: true });
    await page.getByRole("button", { name: /^Notifications.*1/ }).waitFor();
    const { payload } = await push.next();
    expect(payload).toMatchObject({ title: "⚠️ Refund asked for", url: `/p/default/events/${id}`, tag: id });
    expect((await inbox.next()).subject).toContain("Refund asked for");
    await page.goto(`${running.address}/p/default/events/${id}`);
    for (const kind of ["Dashboard", "Browser push", "Email"]) {
      await page.getByRole("listitem").filter({ hasText: kind }).filter({ hasText: "Delivered" }).waitFor();
    }
    await expectAccessible("event");
  });

  test("the service worker shows a push message", async () => {
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
    // This Chromium has no desktop for notifications, so the worker's request to show one is intercepted.
    const shown = await worker.evaluate(`new Promise((resolve) => {
      self.registration.showNotification = async (title, options) => resolve({ title, ...options });
      const message = JSON.stringify({ title: "Hello", body: "there", url: "/p/default", tag: "t" });
      self.dispatchEvent(new PushEvent("push", { data: message }));
    })`);
    expect(shown).toMatchObject({ title: "Hello", body: "there", data: { url: "/p/default" }, tag: "t" });
  });

  test("an event without notify says why nobody was notified", async () => {
    const id = await record({ channel: "payments", name: "Quiet one" });
    await page.goto(`${running.address}/p/default/events/${id}`);
    await page.getByText("Nobody was notified", { exact: false }).waitFor();
  });

  test("the bell lists notifications, and reading them clears the count", async () => {
    await page.goto(`${running.address}/notifications`);
    await page.getByText("Refund asked for").first().waitFor();
    await expectAccessible("notifications");
    await page
      .getByRole("button", { name: /mark all/i })
      .first()
      .click();
    await page.getByRole("button", { name: /^Notifications(?!.*\d)/ }).waitFor();
  });
});

describe("keys and sessions", () => {
  test("a key is shown once, works, and stops working when it is revoked", async () => {
    await page.goto(`${running.address}/p/default/keys`);
    await page.getByRole("button", { name: "New API key" }).first().click();
    await page.getByRole("dialog").getByLabel("Name").fill("Till");
    await page.getByRole("button", { name: "Create key" }).click();
    await page
      .getByRole("dialog")
      .getByText(/tdg_sk_/)
      .first()
      .waitFor();
    const shown = (await page.getByRole("dialog").textContent())!;
    const secret = /tdg_sk_[0-9A-Za-z]{36}/.exec(shown)![0];
    const status = async () =>
      (await fetch(`${running.address}/api/events?limit=1`, { headers: { "x-api-key": secret } })).status;
    expect(await status()).toBe(200);
    await page.keyboard.press("Escape");
    await page.reload();
    const row = page.getByRole("row").filter({ hasText: "Till" });
    await row.waitFor();
    expect(await page.locator("main").textContent()).not.toContain(secret);
    await expectAccessible("keys");
    await chooseAction(page, "Till", "Revoke…");
    await page
      .getByRole("alertdialog")
      .or(page.getByRole("dialog"))
      .getByRole("button", { name: /revoke/i })
      .click();
    await page
      .getByRole("row")
      .filter({ hasText: "Till" })
      .filter({ hasText: /revoked/i })
      .waitFor();
    expect(await status()).toBe(401);
  });

  test("a rejected event is fixed and sent again", async () => {
    const response = await fetch(`${running.address}/api/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: JSON.stringify({ channel: "payments", name: "Late payment", tags: { amount: 12 } }),
    });
    expect(response.status).toBe(422);
    await page.goto(`${running.address}/p/default/rejected`);
    await page.getByText("Invalid events are kept here for 30 days").waitFor();
    await page.getByText('The tag "amount" must be a string').first().waitFor();
    await expectAccessible("rejected events");
    await page.getByRole("button", { name: "Fix and resend", exact: true }).click();
    const body = page.getByLabel("Event (JSON)");
    await expectAccessible("an event to be fixed");
    await page.getByRole("button", { name: "Resend" }).click();
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await body.fill((await body.inputValue()).replace("12", '"12"'));
    await page.getByRole("button", { name: "Resend" }).click();
    await page.getByText("No rejected events").waitFor();
    await page.goto(`${running.address}/p/default`);
    await page.getByRole("article").filter({ hasText: "Late payment" }).waitFor();
  });

  test("signing out ends the session, and signing in returns to the page", async () => {
    const session = await context.cookies();
    expect(session.some(({ name, httpOnly }) => name.includes("session") && httpOnly)).toBe(true);
    const other = await browser.newContext({ colorScheme: "dark", viewport: { width: 390, height: 844 } });
    const phone = await other.newPage();
    await phone.goto(`${running.address}/p/default/keys`);
    await phone.getByLabel("Email").fill(owner.email);
    await phone.getByLabel("Password", { exact: true }).fill(owner.password);
    await expectAccessible("sign-in", phone);
    await phone.getByRole("button", { name: "Sign in" }).click();
    const main = phone.locator("main");
    await main.getByText("Till").first().waitFor();
    expect(new URL(phone.url()).pathname).toBe("/p/default/keys");
    // What each page shows once it has loaded.
    const pages = [
      ["/p/default", main.getByRole("article")],
      ["/p/default/settings", main.getByRole("link", { name: "My settings" })],
      ["/account/notifications", main.getByRole("heading", { name: "Devices" })],
      ["/p/default/connections", main.getByRole("link", { name: /^API keys/ })],
      ["/p/default/keys", main.getByText("Till")],
      ["/p/default/members", main.getByText("Your membership")],
      ["/p/default/rejected", main.getByText("No rejected events")],
      ["/notifications", main.getByText("Refund asked for")],
    ] as const;
    for (const [path, loaded] of pages) {
      await phone.goto(running.address + path);
      await loaded.first().waitFor();
      await expectAccessible(`${path} in the dark on a phone`, phone);
      expect(await phone.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    }
    await other.close();
    // Six pages are checked for accessibility, which takes a while on a busy machine.
  });
});

test("the client library sends events from a page of another site", async () => {
  const built = await Bun.build({
    entrypoints: [`${import.meta.dir}/../../client/src/index.ts`],
    target: "browser",
  });
  const library = await built.outputs[0]!.text();
  const site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      request.url.endsWith("/client.js")
        ? new Response(library, { headers: { "content-type": "text/javascript" } })
        : new Response("<!doctype html><title>Shop</title>", { headers: { "content-type": "text/html" } }),
  });
  const shop = await browser.newPage();
  await shop.goto(site.url.href);
  const event = await shop.evaluate(`import("/client.js").then(({ createClient }) =>
    createClient({ baseUrl: "${running.address}", apiKey: "${key}" })
      .track({ channel: "shop", name: "Basket filled", tags: { items: 3 } }))`);
  expect(event).toMatchObject({ channelId: "shop", name: "Basket filled", tags: { items: "3" } });
  await shop.close();
  await site.stop(true);
});

test("the browser reported no errors", () => {
  // One of the tests goes offline.
  expect(
    complaints.filter((text) => !/ERR_INTERNET_DISCONNECTED|Failed to load resource/.test(text)),
  ).toEqual([]);
});
