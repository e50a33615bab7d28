// @long
/** The way from a key to the board of a website, in a real browser. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import { desktop, pageEvent, sendPageEvents } from "../testing/website-visits.ts";

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  ({ page, complaints } = await openPage(
    await dashboard.newContext({ viewport: { width: 1440, height: 1400 }, locale: "en-US" }),
  ));
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const tile = (name: string) => page.getByRole("region", { name, exact: true });
const button = (name: string) => page.getByRole("button", { name, exact: true });

test("a key's line is pasted, and the board appears with the first view", async () => {
  await page.goto(`${dashboard.address}/p/default/keys`);
  const section = page.getByRole("region", { name: "Count the visits of a website" });
  await section.getByText(`src="${dashboard.address}/t.js" data-key="YOUR_PUBLISHABLE_KEY"`).waitFor();
  const created = await page.request.post(`${dashboard.address}/api/keys?project=default`, {
    data: { name: "Shop", kind: "publishable" },
    headers: { origin: dashboard.address },
  });
  const { secret } = (await created.json()) as { secret: string };
  // A visit of two pages, whose visitor reads the first, and one of one page.
  const first = { userAgent: desktop, visitor: "visitor-one" };
  await sendPageEvents(
    dashboard,
    secret,
    [
      pageEvent({ path: "/", age: 120_000, referrer: "https://www.google.com/" }),
      pageEvent({ name: "Engagement", path: "/", age: 60_000, tags: { seconds: 60, scroll: 50 } }),
      pageEvent({ path: "/prices", age: 60_000 }),
    ],
    first,
  );
  await sendPageEvents(dashboard, secret, [pageEvent({ path: "/prices" })], { visitor: "visitor-two" });

  await page.goto(`${dashboard.address}/p/default/boards`);
  await page.getByRole("link", { name: "Website", exact: true }).click();
  for (const [name, value] of [
    ["Visitors now", "2"],
    ["Visitors", "2"],
    ["Page views", "3"],
    ["Visits", "2"],
    ["Bounce rate", "50%"],
    ["Visit duration", "30 s"],
  ])
    await tile(name!).getByText(value!, { exact: true }).waitFor();
  await tile("Exit pages")
    .getByRole("row", { name: /\/prices/ })
    .getByText("2", { exact: true })
    .waitFor();
  await tile("Sources")
    .getByRole("row", { name: /Google/ })
    .waitFor();
  await tile("Countries")
    .getByRole("row", { name: /Germany/ })
    .waitFor();
  await expectAccessible("the board of a website", page);
}, 120_000);

test("a page leads to its events", async () => {
  await tile("Entry pages").getByRole("link", { name: "/prices", exact: true }).click();
  await page.waitForURL(/tag\.path=%2Fprices|path/);
  await page
    .getByRole("link", { name: /Page view/ })
    .first()
    .waitFor();
  expect(page.url()).toContain("Page");
});

test("a tile of sessions is edited by form", async () => {
  await page.goto(`${dashboard.address}/p/default/boards`);
  await page.getByRole("link", { name: "Website", exact: true }).click();
  await button("Edit").click();
  await button("Add tile").click();
  await page.getByRole("radio", { name: "Sessions" }).check();
  await page.getByLabel("Events that count").fill('name:"Page view"');
  await page.getByLabel("Show", { exact: true }).selectOption("eventsPerSession");
  await page.getByRole("dialog").getByText("1.5", { exact: true }).waitFor();
  await page.getByLabel("Title").fill("Pages of a visit");
  await page.getByRole("dialog").getByRole("button", { name: "Add tile" }).click();
  await button("Save").click();
  await tile("Pages of a visit").getByText("1.5", { exact: true }).waitFor();
  expect(complaints).toEqual([]);
}, 120_000);
