// @long
/** Unannounced outages: the server is killed or silent, or the browser is offline. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { openDashboardOfProcess, recordHistory, scrollHistory, scrollTopOf } from "./browser/dashboard.ts";

let dashboard: Awaited<ReturnType<typeof openDashboardOfProcess>>;

beforeAll(async () => {
  dashboard = await openDashboardOfProcess();
  await recordHistory(dashboard);
});

beforeEach(() => dashboard.start());

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

/** Longer than a stream may be silent (dashboard/live/stream.ts). */
const silenceMs = 50_000;

const article = (page: Page, text: string) => page.getByRole("article").filter({ hasText: text });
const live = (page: Page) => page.getByText("Live", { exact: true });
const away = (page: Page) => page.getByText("Can't reach the server. Trying again…");
const offline = (page: Page) => page.getByText("You're offline. Events appear once you're back.");
const newPill = (page: Page, count: number) =>
  page.getByRole("button", { name: `${count} new`, exact: true });

/** Records some events one after another, and returns their names. */
async function record(prefix: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `${prefix} ${index}`);
  for (const name of names) await dashboard.post({ channel: "history", name });
  return names;
}

/** Names in the feed's first rows, newest first. */
const firstNames = (page: Page, count: number): Promise<string[]> =>
  page
    .getByRole("article")
    .locator("[id^=name-]")
    .evaluateAll((rows, count) => rows.slice(0, count).map((row) => row.textContent!), count);

test("killing the server while the feed is scrolled loses neither events nor the position", async () => {
  const page = await dashboard.open("/p/default/channels/history");
  await live(page).waitFor();
  const top = await scrollHistory(page);
  const before = await record("Before", 3);
  await newPill(page, 3).waitFor();
  // These are durable, but the browser may not have received all of them.
  before.push(...(await record("Last", 2)));
  await dashboard.kill();
  await away(page).waitFor();
  expect(await scrollTopOf(page)).toBe(top);
  expect(await article(page, "Number 222").count()).toBe(1);
  await dashboard.start();
  const after = await record("After", 3);
  await newPill(page, 8).waitFor();
  await away(page).waitFor({ state: "detached" });
  expect(await scrollTopOf(page)).toBe(top);
  await newPill(page, 8).click();
  await article(page, after.at(-1)!).waitFor();
  expect(await firstNames(page, 9)).toEqual([...[...before, ...after].toReversed(), "Number 299"]);
  await page.context().close();
});

test("killing the server while a dialog is open keeps what was typed, and it can be sent afterwards", async () => {
  const page = await dashboard.open("/p/default/channels/history");
  await live(page).waitFor();
  await page.getByRole("button", { name: "New channel" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New channel" });
  await dialog.getByLabel("Name").fill("typed-before");
  await dashboard.kill();
  await page.getByText("Reconnecting…").waitFor();
  await dashboard.start();
  await live(page).waitFor();
  expect(await dialog.getByLabel("Name").inputValue()).toBe("typed-before");
  await page.getByRole("button", { name: "Create channel" }).click();
  await page.getByRole("heading", { name: "typed-before" }).waitFor();
  await page.context().close();
});

/** A page with a stream of its own, so that its network and clock apply to the stream. */
async function openAlone(): Promise<Page> {
  const context = await dashboard.newContext();
  await context.addInitScript("delete globalThis.SharedWorker");
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`${dashboard.address}/p/default/channels/history`);
  await live(page).waitFor();
  return page;
}

test("an offline browser keeps what it shows, says so, and misses nothing", async () => {
  const page = await openAlone();
  const top = await scrollHistory(page);
  await page.context().setOffline(true);
  // Going offline doesn't close an open connection; it just becomes silent.
  await page.clock.fastForward(silenceMs);
  await offline(page).waitFor();
  expect(await article(page, "Number 222").count()).toBe(1);
  const missed = await record("While offline", 3);
  await page.context().setOffline(false);
  await newPill(page, 3).waitFor();
  await offline(page).waitFor({ state: "detached" });
  expect(await scrollTopOf(page)).toBe(top);
  await newPill(page, 3).click();
  await article(page, missed.at(-1)!).waitFor();
  expect(await firstNames(page, 3)).toEqual(missed.toReversed());
  await page.context().close();
});

test("a silent connection is noticed and reopened", async () => {
  const page = await openAlone();
  await page.getByRole("article").nth(4).waitFor();
  const shown = await firstNames(page, 5);
  dashboard.freeze();
  try {
    // One missing heartbeat is not reported.
    await page.clock.fastForward(20_000);
    expect(await live(page).count()).toBe(1);
    await page.clock.fastForward(silenceMs);
    await page.getByText("Reconnecting…").waitFor();
    await away(page).waitFor();
    expect(await firstNames(page, 5)).toEqual(shown);
  } finally {
    dashboard.resume();
  }
  await live(page).waitFor();
  const [name] = await record("After the silence", 1);
  await article(page, name!).waitFor();
  expect(await article(page, name!).count()).toBe(1);
  await page.context().close();
});
