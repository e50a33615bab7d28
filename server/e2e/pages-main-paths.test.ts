// @long
/** The main paths in any browser: in the bundled Chromium, and with `npm run test:browsers` in Firefox and WebKit. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { type Running, serve } from "../serve.ts";
import { removeStorage } from "../testing/engine.ts";
import { testConfig, testPasswords } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { openBrowser, type TestBrowser } from "./browser/drivers/browser.ts";
import { visitorOf } from "./browser/drivers/visitor.ts";

const owner = { email: "ada@example.com", password: "correct horse battery" };
const config = await testConfig();

let running: Running;
let browser: TestBrowser;
let visitor: ReturnType<typeof visitorOf>;
let key: string;

beforeAll(async () => {
  running = await serve(config, { passwords: testPasswords });
  browser = await openBrowser();
  await browser.resize(1440, 900);
  visitor = visitorOf(browser);
}, 120_000);

afterEach(() => expect(browser.takeComplaints()).toEqual([]));

afterAll(async () => {
  await browser?.close();
  await running?.stop();
  await removeStorage(config);
});

async function record(event: object): Promise<void> {
  const response = await fetch(`${running.address}/api/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify(event),
  });
  expect(response.status).toBe(201);
}

const open = (path: string) => visitor.open(running.address + path);
const expectAccessible = async () => expect(await visitor.violations()).toEqual([]);

test("setup: the link creates an account, shows a key, and the first event appears by itself", async () => {
  const link = new URL(running.setupLink!);
  await open(link.pathname + link.search);
  await visitor.sees("heading", "Welcome to Tidings");
  await expectAccessible();
  await visitor.fill("Email", owner.email);
  await visitor.fill("Password", owner.password);
  await visitor.click("button", "Create account");
  key = /tdg_sk_[0-9A-Za-z]{36}/.exec(await visitor.reads(/Waiting for your first event/))![0];
  await expectAccessible();
  await record({ channel: "payments", name: "Payment received", userId: "u1", icon: "💰", notify: true });
  await visitor.click("link", "Open the feed");
  await visitor.sees("article", /Payment received/);
  await visitor.sees("button", "Notifications, 1 unread");
});

test("feed: an event appears as it is recorded, in the feed, the histogram and its channel", async () => {
  await record({ channel: "logins", name: "Signed in", userId: "u2", tags: { plan: "free" } });
  await visitor.sees("article", /Signed in/);
  await visitor.sees("slider", /^Events over time/);
  await expectAccessible();
  await visitor.click("link", /^logins/);
  await visitor.sees("heading", "logins");
  await visitor.seesNo("article", /Payment received/);
  expect(await visitor.count("article", /Signed in/)).toBe(1);
});

test("search: is completed, narrows the feed, points at a mistake, and is cleared", async () => {
  await open("/p/default");
  await visitor.fill("Search and filter", "channel:pay");
  await visitor.click("option", /payments/);
  await visitor.press("Enter");
  await visitor.seesNo("article", /Signed in/);
  await visitor.sees("article", /Payment received/);
  await expectAccessible();
  await open("/p/default");
  await visitor.fill("Search and filter", "amount>abc");
  await visitor.press("Enter");
  await visitor.sees("alert", /"abc" is not a number/);
  await visitor.fill("Search and filter", "plan=free");
  await visitor.press("Enter");
  await visitor.isAt(/plan/);
  await visitor.seesNo("article", /Payment received/);
  await visitor.sees("article", /Signed in/);
  await visitor.click("button", "Remove filter: plan free");
  await visitor.sees("article", /Payment received/);
});

test("event: a click opens it beside the feed, with its tags, and Escape closes it", async () => {
  await open("/p/default");
  await visitor.click("article", /Signed in/);
  await visitor.isAt(/\/events\//);
  await visitor.sees("heading", "Signed in");
  await visitor.reads(/plan\s+free/);
  await expectAccessible();
  await visitor.press("Escape");
  await visitor.seesNo("heading", "Signed in");
  await visitor.sees("article", /Payment received/);
});

test("board: shows numbers, is arranged by keyboard, and left for another one", async () => {
  await visitor.click("link", "Boards");
  await visitor.sees("region", /^Events/);
  await visitor.reads(/Events\s+2/);
  await expectAccessible();
  await visitor.click("button", "Edit");
  await visitor.click("button", "Move Users");
  await visitor.press("ArrowRight");
  await visitor.sees("status", /Users: column/);
  await visitor.click("button", "Save");
  await visitor.seesNo("button", "Save");
  await visitor.click("button", "Menu of the board");
  await visitor.click("menuitem", "New board");
  await visitor.fill("Name", "Second");
  await visitor.click("button", "Create board");
  await visitor.sees("heading", "Second");
  await visitor.click("link", "Overview");
  await visitor.sees("region", /^Events/);
  await visitor.click("link", "Second");
  await visitor.sees("heading", "Second");
  await visitor.click("link", /^All events/);
  await visitor.sees("article", /Payment received/);
});

test("rule: is made with a preview, and listed in a sentence", async () => {
  await visitor.click("link", "Rules");
  await visitor.click("button", "New rule");
  await visitor.fill("Name", "Payments");
  await visitor.fill("Events that match", "channel:payments");
  await visitor.sees("option", /payments/);
  await visitor.reads(/Would have notified once in the last 7 days/);
  await expectAccessible();
  await visitor.click("button", "Create rule");
  await visitor.reads(/Each event matching channel:payments, to everyone/);
});

test("sign-in: after signing out, a wrong password is refused, and the right one leads on", async () => {
  await visitor.click("button", "ada");
  await visitor.click("menuitem", "Sign out");
  await visitor.sees("button", "Sign in");
  await expectAccessible();
  await visitor.fill("Email", owner.email);
  await visitor.fill("Password", "wrong horse battery");
  await visitor.click("button", "Sign in");
  await visitor.sees("alert", /./);
  await visitor.fill("Password", owner.password);
  await visitor.press("Enter");
  await visitor.sees("article", /Payment received/);
});

test("phone: nothing is wider than the screen, and the sidebar opens", async () => {
  await browser.resize(390, 844);
  for (const path of ["", "/boards", "/rules", "/users", "/settings", "/keys"]) {
    await open(`/p/default${path}`);
    await visitor.sees("heading", /./);
    expect({ path, overflow: await visitor.overflow() }).toEqual({ path, overflow: 0 });
  }
  await open("/p/default");
  await visitor.click("button", "Channels");
  await visitor.sees("dialog", "Channels");
  await visitor.click("link", /^payments/);
  await visitor.sees("heading", "payments");
  await expectAccessible();
});

test("errors: what a page throws, rejects and logs would fail these tests", async () => {
  await browser.evaluate(`setTimeout(() => {
    console.error("logged");
    Promise.reject(new Error("rejected"));
    throw new Error("thrown");
  })`);
  const complaints: string[] = [];
  await until(() => complaints.push(...browser.takeComplaints()) >= 3);
  for (const text of ["logged", "rejected", "thrown"]) expect(complaints.join("\n")).toContain(text);
});
