/** Many tabs of one browser: they share a stream, and each shows what another does. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { effort } from "../testing/engine.ts";
import { longTest } from "../testing/long-test.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

/** How long the other tabs may take. */
const soonMs = effort(5_000, 60_000);

let dashboard: TestDashboard;
let context: BrowserContext;

beforeAll(async () => {
  dashboard = await openDashboard();
  await dashboard.post({ channel: "payments", name: "First payment" });
});

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

async function openTab(path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(dashboard.address + path);
  await article(page, "First payment").waitFor();
  return page;
}

const article = (page: Page, text: string) => page.getByRole("article").filter({ hasText: text });
const unreadIn = (page: Page, count: number) =>
  page.getByRole("button", { name: new RegExp(`^Notifications, ${count} unread`) });

/** What a browser does to a tab in the background. */
function setVisibility(page: Page, state: "visible" | "hidden"): Promise<void> {
  return page.evaluate(`
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "${state}" });
    document.dispatchEvent(new Event("visibilitychange"));
  `);
}

// HTTP/1.1 allows six connections.
longTest("more tabs than connections stay usable and live", async () => {
  context = await dashboard.newContext();
  const tabs: Page[] = [];
  for (let opened = 0; opened < effort(7, 10); opened++) tabs.push(await openTab("/p/default"));
  await tabs[0]!.getByRole("link", { name: "Connections" }).click();
  await tabs[0]!.getByRole("heading", { name: "Connections", exact: true }).waitFor({ timeout: soonMs });
  await tabs[0]!.goBack();
  await dashboard.post({ channel: "payments", name: "For all tabs" });
  await Promise.all(tabs.map((tab) => article(tab, "For all tabs").waitFor({ timeout: soonMs })));
  await context.close();
});

longTest("a hidden tab releases the stream within seconds, and misses nothing", async () => {
  context = await dashboard.newContext();
  const tab = await openTab("/p/default");
  await tab.getByText("Live", { exact: true }).waitFor();
  const { id } = await dashboard.post({ channel: "payments", name: "Before it is hidden" });
  await article(tab, "Before it is hidden").waitFor();
  await setVisibility(tab, "hidden");
  await tab.getByText("Paused", { exact: true }).waitFor({ timeout: soonMs });
  await dashboard.post({ channel: "payments", name: "While hidden" });
  await dashboard.delete(`/api/events/${id}`);
  expect(await article(tab, "While hidden").count()).toBe(0);
  await setVisibility(tab, "visible");
  await article(tab, "While hidden").waitFor({ timeout: soonMs });
  expect(await article(tab, "While hidden").count()).toBe(1);
  await article(tab, "Before it is hidden").waitFor({ state: "detached", timeout: soonMs });
  await context.close();
});

test("the stream outlives the tab that opened it", async () => {
  context = await dashboard.newContext();
  const first = await openTab("/p/default");
  const second = await openTab("/p/default");
  await first.close();
  await dashboard.post({ channel: "payments", name: "After the first tab" });
  await article(second, "After the first tab").waitFor({ timeout: soonMs });
  await context.close();
});

longTest("a browser without shared workers has a stream for each tab", async () => {
  context = await dashboard.newContext();
  await context.addInitScript("delete globalThis.SharedWorker");
  const tab = await openTab("/p/default");
  await dashboard.post({ channel: "payments", name: "Without a worker" });
  await article(tab, "Without a worker").waitFor({ timeout: soonMs });
  await context.close();
});

longTest("notifications read in one tab are read in all", async () => {
  context = await dashboard.newContext();
  const [one, other] = [await openTab("/p/default"), await openTab("/p/default")];
  await dashboard.post({ channel: "payments", name: "Look here", notify: true });
  await unreadIn(other, 1).waitFor();
  await one.getByRole("button", { name: /^Notifications, 1/ }).click();
  await one.getByRole("button", { name: /Mark all/ }).click();
  await unreadIn(other, 1).waitFor({ state: "detached", timeout: soonMs });
  await context.close();
});

longTest("an event deleted in one tab disappears from all feeds", async () => {
  context = await dashboard.newContext();
  const [one, other] = [await openTab("/p/default"), await openTab("/p/default")];
  await dashboard.post({ channel: "payments", name: "By mistake" });
  await article(other, "By mistake").waitFor();
  await article(one, "By mistake").click();
  await one.getByRole("button", { name: /^Delete/ }).click();
  await one
    .getByRole("dialog")
    .getByRole("button", { name: /^Delete/ })
    .click();
  await article(one, "By mistake").waitFor({ state: "detached", timeout: soonMs });
  await article(other, "By mistake").waitFor({ state: "detached", timeout: soonMs });
  await context.close();
});

test("an event deleted by somebody else disappears from the feed, and an open event says so", async () => {
  context = await dashboard.newContext();
  const tab = await openTab("/p/default");
  const { id } = await dashboard.post({ channel: "payments", name: "Deleted elsewhere" });
  await dashboard.post({ channel: "doomed", name: "Of a doomed channel" });
  await article(tab, "Of a doomed channel").waitFor();
  await article(tab, "Deleted elsewhere").click();
  await tab.getByRole("heading", { name: "Deleted elsewhere" }).waitFor();
  await dashboard.delete(`/api/events/${id}`);
  await article(tab, "Deleted elsewhere").waitFor({ state: "detached", timeout: soonMs });
  await tab.getByText("Event not found").waitFor();
  await dashboard.delete("/api/channels/doomed");
  await article(tab, "Of a doomed channel").waitFor({ state: "detached", timeout: soonMs });
  await tab
    .getByRole("navigation", { name: "Channels" })
    .getByRole("link", { name: /doomed/ })
    .waitFor({ state: "detached" });
  expect(await article(tab, "First payment").count()).toBe(1);
  await context.close();
});

longTest("a channel is read while its events are on screen in the feed of all events", async () => {
  context = await dashboard.newContext();
  const tab = await openTab("/p/default");
  const link = tab.getByRole("navigation", { name: "Channels" }).getByRole("link", { name: /payments/ });
  await dashboard.post({ channel: "payments", name: "On screen" });
  await article(tab, "On screen").waitFor();
  await link.getByText("unread").waitFor({ state: "detached", timeout: soonMs });
  // On other pages it is not on screen.
  await tab.getByRole("link", { name: "Connections" }).click();
  await article(tab, "On screen").waitFor({ state: "detached" });
  await dashboard.post({ channel: "payments", name: "Off screen" });
  await link.getByText("unread").waitFor({ timeout: soonMs });
  await context.close();
});
