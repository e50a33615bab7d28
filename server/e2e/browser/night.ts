/**
 * Takes the pictures of docs/a-night.md: what two members see in a night with two alerts. The server's clock is moved
 * through the night, and all of it happens as it would: events, rules, emails, links.
 *
 *   npm run screenshots                    also takes these
 *   bun server/e2e/browser/night.ts DIR    writes them to another directory
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { callAs } from "../../testing/account-calls.ts";
import { type ReceivedEmail, smtpInbox } from "../../testing/smtp-inbox.ts";
import { testApp } from "../../testing/test-app.ts";
import { untilFannedOut } from "../../testing/until.ts";
import { launchChromium } from "./chromium.ts";
import { smallPicture } from "./small-picture.ts";

const target = process.argv[2] ?? join(import.meta.dir, "../../../docs/screenshots");
const [mira, jonas] = ["mira@example.com", "jonas@example.com"] as const;
const phone = { width: 390, height: 600 };
const desktop = { width: 1440, height: 760 };
const hourMs = 60 * 60 * 1_000;
/** By the hour of the day. */
const ordersPerHour = [3, 2, 2, 2, 3, 4, 6, 9, 12, 14, 15, 16, 17, 16, 15, 15, 16, 18, 19, 17, 14, 10, 7, 5];
/** Against that, from Sunday on. */
const shareOfDay = [1.2, 0.85, 0.95, 0.9, 1, 1.1, 1.3];
const countries = ["DE", "US", "DE", "JP", "DE", "FR", "US"];
const ordered = { channel: "orders", name: "Order placed", icon: "🛒" };
const paid = { channel: "payments", name: "Payment received", icon: "💰" };

const weekly = { every: "week", weekday: "monday", at: "08:00", timeZone: "UTC" };
let board: string;

const realNow = Date.now;
let aheadMs = 0;
Date.now = () => realNow() + aheadMs;
/** Next Sunday, at midnight UTC. */
const sundayMs = (() => {
  const today = Temporal.Now.plainDateISO("UTC");
  return today.add({ days: 7 - (today.dayOfWeek % 7) }).toZonedDateTime("UTC").epochMilliseconds;
})();

mkdirSync(target, { recursive: true });
moveTo("03:11");
await using inbox = await smtpInbox();
await using app = await testApp({ smtpUrl: inbox.url, emailFrom: "Tidings <tidings@example.com>" }, () =>
  Date.now(),
);
const browser = await launchChromium();
try {
  await night();
} finally {
  await browser.close();
}

async function night(): Promise<void> {
  const ids = await addMembers();
  await addOrders(13 * 24);
  const cookie = await app.signIn(mira);
  await call(cookie, "PATCH", "/api/projects/default", { name: "Coffee shop" });
  const only = (email: string) => ({ everyone: false, members: [ids[email]!], destinations: [] });
  await addRule(cookie, {
    name: "Database of the shop is down",
    q: 'name:"Database unreachable"',
    resolve: 'name:"Database is back"',
    to: only(mira),
    urgent: true,
  });
  await addRule(cookie, {
    name: "Payments wait",
    q: 'name:"Payment queued"',
    resolve: 'name:"Payment queue is empty"',
    to: only(jonas),
    escalation: [{ minutes: 15, to: only(mira) }],
  });
  await addReport(cookie);

  moveTo("03:12");
  await record("servers", "Database unreachable", "🔴", { server: "db-1", error: "connection refused" });
  const down = await inbox.next();
  await take("night-feed", desktop, async (page) => {
    await signInWith(page, cookie);
    await page.goto(`${app.address}/p/default`);
    await page.getByRole("link", { name: /^1 open alert/ }).waitFor();
  });
  await takeEmail("night-message", down, phone.width);

  moveTo("03:16");
  await record("payments", "Payment queued", "⏳", { waiting: "24" });
  const queued = await inbox.next();
  if (queued.to[0] !== jonas) throw new Error(`The queue was told to ${queued.to.join()}.`);
  moveTo("03:17");
  await take("night-acknowledge", phone, async (page) => {
    const link = new URL(/Acknowledge: (\S+)/.exec(down.text)![1]!);
    await page.goto(app.address + link.pathname + link.search);
    await page.getByRole("button", { name: "Acknowledge" }).waitFor();
    return async () => {
      await page.getByRole("button", { name: "Acknowledge" }).click();
      await page.getByRole("status").getByText("Acknowledged").waitFor();
    };
  });

  moveTo("03:31:05");
  await record("payments", "Payment queued", "⏳", { waiting: "131" });
  const escalated = await inbox.next();
  if (escalated.to[0] !== mira) throw new Error(`The escalation told ${escalated.to.join()}.`);
  await takeEmail("night-escalated", escalated, phone.width);

  moveTo("03:34");
  const { alerts } = await call<{ alerts: { id: string; title: string }[] }>(cookie, "GET", "/api/alerts");
  const { id } = alerts.find(({ title }) => title === "Payments wait")!;
  await call(cookie, "POST", `/api/alerts/${id}/acknowledge`, {});
  await takeAlerts("night-open", cookie, "Database of the shop is down", "Open");

  moveTo("03:52");
  await record("servers", "Database is back", "🟢", { server: "db-1" });
  moveTo("03:58");
  await record("payments", "Payment queue is empty", "✅", { waiting: "0" });
  await takeAlerts("night-resolved", cookie, "Payments wait", "Resolved");

  moveTo("08:00:30", 1);
  await addOrders(27);
  await wakeReports(cookie);
  await takeEmail("night-report", await nextEmail("Shop"), 640);
}

/** @param time - on Sunday, or on the day that comes so many days later */
function moveTo(time: string, days = 0): void {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(":").map(Number);
  aheadMs = sundayMs + days * 24 * hourMs + ((hours * 60 + minutes) * 60 + seconds) * 1_000 - realNow();
}

/** Returns the ids of the two accounts, whose addresses are confirmed and get emails. */
async function addMembers(): Promise<Record<string, string>> {
  const { control } = app.running.store;
  for (const email of [mira, jonas]) {
    await app.addMember(email, "admin");
    await control.updateTable("accounts").set({ emailVerified: 1 }).where("email", "=", email).execute();
    const cookie = await app.signIn(email);
    type List = { destinations: { id: string; kind: string }[] };
    const { destinations } = await call<List>(cookie, "GET", "/api/destinations");
    const { id } = destinations.find(({ kind }) => kind === "email")!;
    await call(cookie, "PATCH", `/api/destinations/${id}`, { enabled: true });
  }
  type Members = { members: { id: string; email: string }[] };
  const { members } = await call<Members>(await app.signIn(mira), "GET", "/api/members");
  return Object.fromEntries(members.map(({ id, email }) => [email, id]));
}

/** Orders of the last hours, and what was paid for them. */
async function addOrders(hours: number): Promise<void> {
  const events: object[] = [];
  for (let hour = hours; hour >= 0; hour--) {
    const endMs = Date.now() - hour * hourMs;
    const at = new Date(endMs);
    const perHour = Math.round(ordersPerHour[at.getUTCHours()]! * shareOfDay[at.getUTCDay()]!);
    for (let number = 0; number < perHour; number++) {
      const orderedMs = endMs - Math.round(((number + 0.7) / perHour) * hourMs);
      const userId = `cus_${1_000 + ((hour * 7 + number * 13) % 240)}`;
      const country = countries[(hour * 3 + number * number) % countries.length]!;
      const amount = `${12 + ((hour * 5 + number * 11) % 83)}.50`;
      events.push(
        { ...ordered, userId, tags: { country, product: "House blend" }, createdAt: orderedMs },
        { ...paid, userId, tags: { amount, country }, createdAt: orderedMs + 45_000 },
      );
    }
  }
  const response = await app.post(events);
  if (response.status !== 201) throw new Error(await response.text());
}

async function record(channel: string, name: string, icon: string, tags: object): Promise<void> {
  const response = await app.post({ channel, name, icon, tags });
  if (response.status !== 201) throw new Error(await response.text());
  await untilFannedOut(app);
}

async function addRule(cookie: string, rule: object): Promise<void> {
  await call(cookie, "POST", "/api/rules", { when: { type: "each" }, ...rule });
}

async function addReport(cookie: string): Promise<void> {
  const tiles = [
    { id: "paid", type: "number", title: "Payments", q: "channel:payments received", x: 0, y: 0, w: 4, h: 2 },
    { id: "down", type: "number", title: "Outages", q: "unreachable", x: 4, y: 0, w: 4, h: 2 },
    {
      ...{ id: "day", type: "line", title: "Payments by country", x: 0, y: 2, w: 12, h: 3 },
      ...{ q: "channel:payments received", split: "tag.country" },
    },
  ];
  const created = await call<{ board: { id: string } }>(cookie, "POST", "/api/boards", {
    name: "Shop",
    tiles,
  });
  board = created.board.id;
  await call(cookie, "POST", "/api/reports", { board, schedule: weekly });
}

/** The server's timers don't follow the moved clock, but another report has it look for those that are due. */
async function wakeReports(cookie: string): Promise<void> {
  await call(cookie, "POST", "/api/reports", { board, schedule: { ...weekly, weekday: "friday" } });
}

/** Waits for an email whose subject begins so, past those that tell that an alert is over. */
async function nextEmail(subject: string): Promise<ReceivedEmail> {
  for (;;) {
    const email = await inbox.next(60_000);
    if (email.subject.startsWith(subject)) return email;
  }
}

/** Calls the API as an account. Throws unless the response is a success. */
async function call<Body>(cookie: string, method: string, path: string, body?: unknown): Promise<Body> {
  const result = await callAs<Body>(app, method, path, { cookie, ...(body !== undefined && { body }) });
  if (result.status >= 300)
    throw new Error(`${path} answered ${result.status}: ${JSON.stringify(result.body)}`);
  return result.body;
}

async function signInWith(page: Page, cookie: string): Promise<void> {
  const cookies = cookie.split("; ").map((pair) => {
    const at = pair.indexOf("=");
    return { name: pair.slice(0, at), value: pair.slice(at + 1), url: app.address };
  });
  await page.context().addCookies(cookies);
}

/** The alerts page, with the history of one alert. */
async function takeAlerts(name: string, cookie: string, title: string, section: "Open" | "Resolved") {
  await take(name, { width: 1024, height: 860 }, async (page) => {
    await signInWith(page, cookie);
    await page.goto(`${app.address}/p/default/alerts`);
    const item = page.getByRole("region", { name: section }).getByRole("listitem").filter({ hasText: title });
    await item.getByRole("button", { expanded: false, name: title }).first().click();
    await page.getByText("The rule opened it.").waitFor();
  });
}

/** An email as a mail program shows it. */
async function takeEmail(name: string, { html, raw }: ReceivedEmail, width: number): Promise<void> {
  const [, picture] = /Content-Type: image\/png[\s\S]*?\r\n\r\n([\w+/=\r\n]+)/.exec(raw) ?? [];
  const shown = html.replace("cid:picture@report", `data:image/png;base64,${picture?.replace(/\s/g, "")}`);
  await take(name, { width, height: 400 }, async (page) => {
    await page.setContent(shown);
    const height = await page.evaluate("Math.ceil(document.documentElement.getBoundingClientRect().height)");
    await page.setViewportSize({ width, height: height as number });
  });
}

async function take(
  name: string,
  viewport: NonNullable<BrowserContextOptions["viewport"]>,
  show: (page: Page) => Promise<void | (() => Promise<void>)>,
): Promise<void> {
  const context = await browser.newContext({ viewport, colorScheme: "dark", timezoneId: "UTC" });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  await page.clock.setFixedTime(Date.now());
  await page.addInitScript('Object.defineProperty(Notification, "permission", { get: () => "granted" })');
  const goOn = await show(page);
  await page.waitForTimeout(1_500);
  writeFileSync(join(target, `${name}.webp`), await smallPicture(page));
  await goOn?.();
  await context.close();
}
