// @long
/** The time range and the histogram above the feed: a real server, a real Chromium. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { longTest } from "../testing/long-test.ts";
import { until } from "../testing/until.ts";
import { expectAccessible, openPage } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

const minuteMs = 60_000;

let dashboard: TestDashboard;
let context: BrowserContext;
let page: Page;
let complaints: string[];
let startedMs: number;

beforeAll(async () => {
  dashboard = await openDashboard();
  startedMs = Date.now();
  const ago = (minutes: number) => startedMs - minutes * minuteMs;
  await dashboard.post([
    { channel: "orders", name: "Long ago", createdAt: ago(60 * 24 * 3) },
    { channel: "orders", name: "Early", createdAt: ago(45), tags: { plan: "pro" } },
    { channel: "payments", name: "Late", createdAt: ago(5) },
    { channel: "payments", name: "Late", createdAt: ago(5) },
  ]);
  context = await dashboard.newContext({ viewport: { width: 1280, height: 800 } });
  ({ page, complaints } = await openPage(context));
});

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

beforeEach(() => complaints.splice(0));

const article = (text: string) => page.getByRole("article").filter({ hasText: text });
const chart = () => page.getByRole("slider", { name: /^Events over time/ });
const button = (name: string | RegExp) => page.getByRole("button", { name });
const search = () => new URL(page.url()).searchParams;

async function open(path: string): Promise<void> {
  await page.goto(dashboard.address + path);
  await page.getByRole("article").first().waitFor();
  await chart().waitFor();
}

/** While counts are loading, the bars are those of the time before. */
function untilCounted(): Promise<void> {
  return page.locator('[aria-busy="false"]').filter({ has: chart() }).waitFor();
}

/** Drags over a part of the chart's plot, from 0 at its left to 1 at its right. */
async function drag(from: number, to: number): Promise<void> {
  await untilCounted();
  const plot = page.locator(".u-over");
  const { x, y, width, height } = (await plot.boundingBox())!;
  await page.mouse.move(x + width * from, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * ((from + to) / 2), y + height / 2);
  await page.mouse.move(x + width * to, y + height / 2);
  await page.mouse.up();
}

test("dragging zooms the address and the list; the button and a double click zoom out", async () => {
  await open("/p/default?range=1h");
  await article("Early").waitFor();
  await drag(0.01, 0.6);
  await page.waitForURL(/\?from=[^&]+&to=[^&]+$/);
  await article("Late").first().waitFor({ state: "detached" });
  await article("Early").waitFor();
  const [from, to] = [Date.parse(search().get("from")!), Date.parse(search().get("to")!)];
  expect([from % minuteMs, to % minuteMs]).toEqual([0, 0]);
  expect(to - from).toBeWithin(30 * minuteMs, 42 * minuteMs);

  await button(/^payments/).waitFor({ state: "detached" });
  await drag(0.2, 0.9);
  await page.waitForURL((url) => Date.parse(url.searchParams.get("from") ?? "") > from);
  await button("Zoom out").click();
  await page.waitForURL((url) => Date.parse(url.searchParams.get("from") ?? "") === from);
  await button(/^orders/).waitFor();
  await untilCounted();
  await page.locator(".u-over").dblclick();
  await page.waitForURL(/\?range=1h$/);
  await article("Late").first().waitFor();
  expect(complaints).toEqual([]);
});

longTest("the arrow keys read the bars, select and zoom; the legend leaves series out", async () => {
  await open("/p/default?range=1h");
  await chart().focus();
  const heard = () => chart().getAttribute("aria-valuetext");
  const bar = async () => Number(await chart().getAttribute("aria-valuenow"));
  await page.keyboard.press("End");
  await until(async () => /payments \d/.test((await heard()) ?? ""));
  // From the right, as far as the bar with two payments.
  for (let at = await bar(); !/payments 2/.test((await heard()) ?? ""); at--) {
    if (at === 0) throw new Error("No bar has two payments.");
    await page.keyboard.press("ArrowLeft");
    await until(async () => (await bar()) === at - 1);
  }
  expect(await heard()).toContain("orders 0");
  await button(/^orders/).click();
  await chart().focus();
  await page.keyboard.press("Home");
  await until(async () => !/orders/.test((await heard()) ?? "orders"));

  await page.keyboard.press("Shift+PageDown");
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\?from=/);
  expect(Date.parse(search().get("to")!) - Date.parse(search().get("from")!)).toBe(12 * minuteMs);
  await chart().focus();
  await page.keyboard.press("Escape");
  await page.waitForURL(/\?range=1h$/);
});

test("arriving events grow the bars without another request, and the table shows the counts", async () => {
  await open("/p/default");
  await page.getByRole("combobox", { name: "Split by" }).selectOption("name");
  await button(/^Early/).waitFor();
  await button("Show as table").click();
  const table = page.getByRole("table", { name: /^Events, All time/ });
  await table.getByRole("columnheader", { name: "Early", exact: true }).waitFor();
  expect(await table.getByRole("rowheader").count()).toBeGreaterThanOrEqual(2);

  await button(/^Late 2$/).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await context.route("**/api/stats*", (route) => route.abort());
  await dashboard.post({ channel: "payments", name: "Late" });
  await button(/^Late 3$/).waitFor();
  await context.unroute("**/api/stats*");
});

longTest("bars are split by a tag of the listed events, and saved as a picture", async () => {
  await open("/p/default");
  const split = page.getByRole("combobox", { name: "Split by" });
  await split.focus();
  await split.selectOption("tag.plan");
  await button(/^pro/).waitFor();
  await button(/^Others, or without plan/).waitFor();
  // The address keeps it: through a reload, and while an event is open.
  await page.reload();
  await button(/^pro/).waitFor();
  await article("Early").getByRole("link").first().click();
  await page.waitForURL(/\/events\/.*split=tag\.plan/);
  await page.goBack();
  const [picture] = await Promise.all([page.waitForEvent("download"), button("Save as image").click()]);
  expect(picture.suggestedFilename()).toBe("events.png");
  const bytes = await Bun.file(await picture.path()).bytes();
  expect(new TextDecoder("latin1").decode(bytes.subarray(1, 4))).toBe("PNG");
  expect(bytes.length).toBeGreaterThan(1_000);
});

longTest("ranges are chosen with the keyboard, and a custom one with two fields", async () => {
  await open("/p/default");
  await article("Long ago").waitFor();
  await page.keyboard.press("t");
  await page.getByRole("menuitem", { name: "Last 24 hours" }).press("Enter");
  await page.waitForURL(/\?range=/);
  await article("Long ago").waitFor({ state: "detached" });
  await page.getByText("You've reached the first event in this time range.").waitFor();

  await button(/^Time: Last/).click();
  await page.getByRole("menuitem", { name: "Choose days or times" }).click();
  const dialog = page.getByRole("dialog");
  await expectAccessible("the dialog of a range", page);
  await dialog.getByLabel("From", { exact: true }).fill("2026-01-02");
  await dialog.getByLabel('Time of "From"').fill("10:00");
  await dialog.getByLabel("To", { exact: true }).fill("2026-01-02");
  await dialog.getByLabel('Time of "To"').fill("09:00");
  await dialog.getByRole("button", { name: "Show" }).click();
  await dialog.getByText("This must be after the start.").waitFor();
  await dialog.getByLabel('Time of "To"').fill("11:30");
  await dialog.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/\?from=/);
  const minutes = (Date.parse(search().get("to")!) - Date.parse(search().get("from")!)) / minuteMs;
  expect(minutes).toBe(90);
  await page.getByRole("heading", { name: "No matching events" }).waitFor();
  await button("Show all time").click();
  await article("Long ago").waitFor();
  expect(page.url()).not.toContain("from=");
});

longTest("a jump lists what was before, and leads back to what is newer", async () => {
  const to = new Date(startedMs - 30 * minuteMs).toISOString();
  await open(`/p/default?to=${to}`);
  await article("Early").waitFor();
  expect(await article("Late").count()).toBe(0);
  // At least the two from the start.
  await button(/^[2-9] newer$/).click();
  await article("Late").first().waitFor();
  expect(page.url()).not.toContain("to=");
  await page.keyboard.press("t");
  await page.getByRole("menuitem", { name: "Jump to date" }).click();
  await page.getByLabel("Show what happened up to", { exact: true }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Jump" }).click();
  await page.waitForURL(/\?to=/);
});

longTest("a channel has one color in the sidebar, the feed and the histogram", async () => {
  await open("/p/default?range=1h");
  await button(/^payments/).waitFor();
  const mark = (within: Locator) =>
    within.locator('svg[viewBox="0 0 8 8"] path').evaluate((path) => {
      const { getComputedStyle } = globalThis as unknown as Record<
        string,
        (element: unknown) => { fill: string }
      >;
      return `${path.getAttribute("d")} ${getComputedStyle!(path).fill}`;
    });
  const marks = (channel: string, name: string) =>
    Promise.all([
      mark(page.locator(`[data-channel=${channel}]`)),
      mark(article(name).first()),
      mark(button(new RegExp(`^${channel}`))),
    ]);
  const [orders, payments] = [await marks("orders", "Early"), await marks("payments", "Late")];
  expect(new Set(orders).size).toBe(1);
  expect(new Set(payments).size).toBe(1);
  expect(orders[0]).not.toBe(payments[0]);
  expect(complaints).toEqual([]);
});

test("filters and open events keep the time", async () => {
  await open("/p/default?range=1h");
  await page.getByLabel("Search and filter").fill("channel:orders");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/channels\/orders\?range=1h$/);
  await article("Late").first().waitFor({ state: "detached" });
  await article("Early").click();
  await page.waitForURL(/\/events\/[^?]+\?.*range=1h/);
});

for (const colorScheme of ["light", "dark"] as const) {
  const testIt = colorScheme === "light" ? test : longTest;
  testIt(`is accessible in ${colorScheme} colors`, async () => {
    await page.emulateMedia({ colorScheme });
    await open("/p/default?range=7d");
    await button("Show as table").click();
    await page.getByRole("table").waitFor();
    await expectAccessible(colorScheme, page);
  });
}

longTest("a phone has it closed at first, remembers it open, and has room for it", async () => {
  const phone = await dashboard.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true });
  const narrow = await phone.newPage();
  await narrow.goto(`${dashboard.address}/p/default?to=${new Date(startedMs).toISOString()}`);
  const toggle = narrow.getByRole("button", { name: "Histogram" });
  await toggle.waitFor();
  expect(await toggle.getAttribute("aria-expanded")).toBe("false");
  await toggle.click();
  await narrow.getByRole("slider").waitFor();
  await narrow.reload();
  await narrow.getByRole("slider").waitFor();
  expect(await narrow.evaluate("document.documentElement.scrollWidth")).toBe(390);
  await expectAccessible("phone", narrow);

  const { x, y, width, height } = (await narrow.locator(".u-over").boundingBox())!;
  const finger = await phone.newCDPSession(narrow);
  const touch = (type: "touchStart" | "touchMove", at: number) =>
    finger.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: [{ x: x + width * at, y: y + height / 2 }],
    });
  await touch("touchStart", 0.2);
  await touch("touchMove", 0.4);
  await touch("touchMove", 0.8);
  await finger.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await narrow.waitForURL(/\?from=[^&]+&to=/);
  await phone.close();
});
