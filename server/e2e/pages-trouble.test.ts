// @long
/** The dashboard while the server is away, after an update, and after the session has ended. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { effort } from "../testing/engine.ts";
import { testPassword } from "../testing/test-app.ts";
import { expectAccessible } from "./browser/browser-page.ts";
import {
  openDashboard,
  ownerEmail,
  recordHistory,
  scrollHistory,
  scrollTopOf,
  type TestDashboard,
} from "./browser/dashboard.ts";

let dashboard: TestDashboard;

beforeAll(async () => {
  dashboard = await openDashboard();
  await recordHistory(dashboard);
});

beforeEach(() => dashboard.start());

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const article = (page: Page, text: string) => page.getByRole("article").filter({ hasText: text });
const newest = (page: Page) => article(page, "Number 299");
const away = (page: Page) => page.getByText("Can't reach the server. Trying again…");

test("the first load lists the events once", async () => {
  const counts: number[] = [];
  // On a busy machine the stream can take longer than the page waits for it. The page then lists again.
  while (!counts.includes(1) && counts.length < effort(3, 10)) counts.push(await listingsOfFirstLoad());
  expect(counts).toContain(1);
});

async function listingsOfFirstLoad(): Promise<number> {
  const context = await dashboard.newContext();
  const page = await context.newPage();
  let listings = 0;
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    // The histogram asks for the first event of all.
    if (pathname === "/api/events" && searchParams.get("order") !== "asc") listings++;
  });
  await page.goto(`${dashboard.address}/p/default`);
  await page.getByText("Live", { exact: true }).waitFor();
  // An event that arrives shows that the stream is open.
  const name = `The stream has begun ${Bun.randomUUIDv7()}`;
  await dashboard.post({ channel: "other", name });
  await article(page, name).waitFor();
  await newest(page).waitFor();
  await context.close();
  return listings;
}

test("when the server stops, the page keeps what it shows, says so, and reconnects", async () => {
  const page = await dashboard.open("/p/default/channels/history");
  await newest(page).waitFor();
  const top = await scrollHistory(page);
  await dashboard.stop();
  await away(page).waitFor();
  expect(await article(page, "Number 222").count()).toBe(1);
  await expectAccessible("a server that is away", page);
  await dashboard.start();
  await away(page).waitFor({ state: "detached" });
  await dashboard.post({ channel: "history", name: "After the restart", createdAt: Date.now() });
  await page.getByRole("button", { name: /^1 new/ }).waitFor();
  expect(await scrollTopOf(page)).toBe(top);
  await page.getByRole("button", { name: /^1 new/ }).click();
  await article(page, "After the restart").waitFor();
  await page.context().close();
});

test("a page part first opened while the server is away says so, and loads once it is back", async () => {
  const page = await dashboard.open("/p/default/channels/history");
  await newest(page).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await dashboard.stop();
  await page.getByText("Reconnecting…").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByText("Can't reach the server").waitFor();
  await expectAccessible("a palette that can't be loaded", page);
  await dashboard.start();
  await page.getByPlaceholder(/users, pages/).waitFor();
  await page.keyboard.press("Escape");
  expect(await newest(page).count()).toBe(1);
  await page.context().close();
});

test("what failed to load in an outage too short to end the stream loads when the browser is back online", async () => {
  const page = await dashboard.open("/p/default");
  await newest(page).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  // The worker with the stream stays connected.
  await page.context().setOffline(true);
  await page
    .getByRole("navigation", { name: "Channels" })
    .getByRole("link", { name: /^history/ })
    .click();
  await page.getByText("Events couldn't be loaded").waitFor();
  await page.context().setOffline(false);
  await newest(page).waitFor();
  await page.context().close();
});

test("a page opened while the server is away appears once it is back", async () => {
  const page = await dashboard.open("/p/default/channels/history");
  await newest(page).waitFor();
  await dashboard.stop();
  await page.getByText("Reconnecting…").waitFor();
  await page.getByRole("link", { name: "Connections" }).click();
  await page.locator("main").getByRole("alert").waitFor();
  // The rest of the dashboard stays.
  expect(await page.getByRole("navigation", { name: "Channels" }).count()).toBe(1);
  expect(page.url()).toContain("/connections");
  await dashboard.start();
  await page.getByRole("heading", { name: "Connections", exact: true }).waitFor();
  await page.context().close();
});

test("an error is shown while the server is away, and a dialog keeps what was typed", async () => {
  const page = await dashboard.open("/p/default/channels/history");
  await newest(page).waitFor();
  await page.getByRole("button", { name: "New channel" }).first().click();
  const name = page.getByRole("dialog").getByLabel("Name");
  await name.fill("deployments");
  await dashboard.stop();
  await page.getByRole("button", { name: "Create channel" }).click();
  await page.getByRole("dialog").getByRole("alert").getByText("Can't reach the server").waitFor();
  expect(await name.inputValue()).toBe("deployments");
  await dashboard.start();
  await page.getByRole("button", { name: "Create channel" }).click();
  await page.getByRole("heading", { name: "deployments" }).waitFor();
  await page.context().close();
});

/** As after an update: the entry script has a new name, and the open build's chunks are gone. */
async function update(page: Page): Promise<{ loads: () => number }> {
  let loads = 0;
  let isNew = false;
  await page.route("**/assets/pages-*.js", (route) =>
    isNew ? route.fallback() : route.fulfill({ status: 404 }),
  );
  await page.route("**/index.html", async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/\/assets\/index-[^"]+\.js/, "/assets/index-new.js");
    await route.fulfill({ response, body });
  });
  page.on("domcontentloaded", () => {
    loads++;
    isNew = true;
  });
  return { loads: () => loads };
}

test("a tab from before an update reloads once by itself", async () => {
  const page = await dashboard.open("/p/default/channels/history");
  await newest(page).waitFor();
  const { loads } = await update(page);
  await page.getByRole("link", { name: "Connections" }).click();
  await page.getByRole("heading", { name: "Connections", exact: true }).waitFor();
  expect(loads()).toBe(1);
  await page.context().close();
});

test("a broken new version doesn't reload forever", async () => {
  const page = await dashboard.open("/p/default/channels/history");
  await newest(page).waitFor();
  await page.route("**/assets/pages-*.js", (route) => route.fulfill({ status: 404 }));
  const { loads } = await update(page);
  await page.getByRole("link", { name: "Connections" }).click();
  await page.getByText("A new version is ready").waitFor();
  await page.getByRole("button", { name: "Reload" }).waitFor();
  expect(loads()).toBeLessThanOrEqual(1);
  await page.context().close();
});

test("an ended session asks for the password in place, and the action continues", async () => {
  const page = await dashboard.open("/p/default/channels/history");
  await newest(page).waitFor();
  await page.getByRole("button", { name: "New channel" }).first().click();
  await page.getByRole("dialog").getByLabel("Name").fill("late-shift");
  await page.context().clearCookies();
  await page.getByRole("button", { name: "Create channel" }).click();
  const session = page.getByRole("dialog", { name: "Your session has ended" });
  await session.getByText(ownerEmail).waitFor();
  await session.getByLabel("Password").fill("not the password");
  await session.getByRole("button", { name: "Sign in" }).click();
  await session.getByRole("alert").waitFor();
  await expectAccessible("a session that ended", page);
  await session.getByLabel("Password").fill(testPassword);
  await session.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "late-shift" }).waitFor();
  await page.context().close();
});

test("an event that can't be rendered shows its error in its own box", async () => {
  const descriptions = [
    ">".repeat(10_000),
    "- ".repeat(5_000),
    "> - ".repeat(2_500),
    `${"*a **b ".repeat(1_400)}`,
  ];
  const page = await dashboard.open("/p/default/channels/history");
  for (const description of descriptions) {
    const { id } = await dashboard.post({ channel: "hostile", name: "Deep", description });
    await page.goto(`${dashboard.address}/p/default/events/${id}`);
    await page.getByRole("heading", { name: "Deep" }).waitFor();
    await page
      .getByRole("region", { name: "Description" })
      .getByText(description.slice(0, 20))
      .first()
      .waitFor();
    // The feed beside it still works.
    await page.getByRole("article").first().waitFor();
    expect(await page.getByText("call stack").count()).toBe(0);
  }
  await page.context().close();
});
