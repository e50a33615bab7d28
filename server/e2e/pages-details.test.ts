// @long
/** Details of the pages. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { longTest } from "../testing/long-test.ts";
import { until } from "../testing/until.ts";
import { expectAccessible } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

const dayMs = 86_400_000;

let dashboard: TestDashboard;

beforeAll(async () => {
  dashboard = await openDashboard();
});

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const article = (page: Page, text: string) => page.getByRole("article").filter({ hasText: text });

async function openFeed(channel: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await dashboard.open(`/p/default/channels/${channel}`, options);
  await page.getByRole("article").first().waitFor();
  return page;
}

test("the keys page says what a key can do", async () => {
  const page = await dashboard.open("/p/default/keys");
  await page.getByText(/A publishable key only sends events/).waitFor();
  await page.context().close();
});

const tags = { amount: "184.50", currency: "EUR", method: "card", reason: "card_declined", country: "DE" };

test("a click in the middle of a row opens its event, if its tags have room beside it", async () => {
  const { amount, currency } = tags;
  await dashboard.post({
    channel: "rows",
    name: "Payment failed",
    userId: "cus_1",
    tags: { amount, currency },
  });
  for (const width of [1_024, 1_280, 1_440, 1_920]) {
    const page = await openFeed("rows", { viewport: { width, height: 900 } });
    const { x, y, width: rowWidth, height } = (await article(page, "Payment failed").boundingBox())!;
    await page.mouse.click(x + rowWidth / 2, y + height / 2);
    await page.waitForURL(/\/events\//);
    await page.context().close();
  }
});

longTest("each chip shows its value, also next to an open event on a tablet", async () => {
  const { id } = await dashboard.post({ channel: "chips", name: "Order placed", tags });
  const viewport = { width: 768, height: 1_024 };
  const page = await dashboard.open(`/p/default/events/${id}?channel=chips`, { viewport });
  await page.getByRole("region", { name: "Event", exact: true }).getByText("184.50").first().waitFor();
  const chips = article(page, "Order placed")
    .locator("button[title^=Only], a[title^=Open]")
    .filter({ hasText: /^(amount|currency|method|reason|country)/ });
  // The row is laid out anew when the list gets its final width.
  await until(async () => {
    const areWhole = await chips.evaluateAll((buttons) =>
      buttons.map((button) => {
        const value = [...button.querySelectorAll("span")].at(-1)!;
        const { left, right } = value.getBoundingClientRect();
        // Text that is cut off with an ellipsis is wider inside than outside.
        const isWhole = value.scrollWidth <= value.clientWidth && right - left > 8;
        return isWhole && right <= button.getBoundingClientRect().right;
      }),
    );
    return areWhole.length > 0 && areWhole.every(Boolean);
  });
  await page.context().close();
});

longTest("chips on a phone are large enough for a finger", async () => {
  const page = await openFeed("chips", { viewport: { width: 390, height: 844 } });
  const chip = article(page, "Order placed").getByRole("button", { name: /amount/ });
  const { x, y, width, height } = (await chip.boundingBox())!;
  expect(height).toBeGreaterThanOrEqual(24);
  // The touch target is 44 pixels high, and nothing else in the row overlaps it.
  for (const touchedY of [y + height / 2 - 21, y + height / 2 + 21]) {
    const touched: string = await page.evaluate(
      `document.elementFromPoint(${x + width / 2}, ${touchedY}).closest("button")?.textContent ?? ""`,
    );
    expect(touched).toStartWith("amount");
  }
  await page.context().close();
});

longTest("a tag with a URL opens it, and has a separate button to filter", async () => {
  const url = "https://example.com/orders/42";
  const { id } = await dashboard.post({ channel: "links", name: "Linked", tags: { order: url } });
  const page = await openFeed("links");
  const inRow = article(page, "Linked").getByRole("link", { name: "order" });
  expect(await inRow.getAttribute("href")).toBe(url);
  expect(await inRow.getAttribute("rel")).toContain("noopener");
  await page.goto(`${dashboard.address}/p/default/events/${id}`);
  const link = page.getByRole("region", { name: "Tags" }).getByRole("link", { name: url, exact: true });
  expect(await link.getAttribute("href")).toBe(url);
  expect(await link.getAttribute("rel")).toContain("noopener");
  await expectAccessible("a tag with an address", page);
  await page.getByRole("link", { name: `Only events with order = ${url}` }).click();
  await article(page, "Linked").waitFor();
  expect(new URL(page.url()).searchParams.get("tag.order")).toBe(url);
  await page.context().close();
});

longTest("a task list shows boxes, not brackets", async () => {
  const description = "- [x] done\n- [ ] open\n\n1. plain";
  const { id } = await dashboard.post({ channel: "tasks", name: "Tasks", description });
  const page = await dashboard.open(`/p/default/events/${id}`);
  const section = page.getByRole("region", { name: "Description" });
  await section.getByRole("img", { name: "To do" }).waitFor();
  expect(await section.getByRole("img", { name: "Done" }).count()).toBe(1);
  expect(await section.getByRole("listitem").allTextContents()).toEqual(["done", "open", "plain"]);
  await page.context().close();
});

test("a URL with an invalid search shows what is wrong, and offers to clear it", async () => {
  await dashboard.post({ channel: "payments", name: "Paid" });
  const context = await dashboard.newContext();
  const page = await context.newPage();
  // The histogram's first question, which has the same mistake.
  const asked = page.waitForResponse(/\/api\/events\?.*order=asc/);
  await page.goto(`${dashboard.address}/p/default?q=chanel:payments`);
  await asked;
  const alert = page.locator("main").getByRole("alert");
  await alert.getByText(/^"chanel"|Unknown field "chanel"/).waitFor();
  expect(await alert.getByRole("button", { name: "Retry" }).count()).toBe(0);
  await alert.getByRole("button", { name: "Clear filters" }).click();
  await page.getByRole("article").first().waitFor();
  await page.context().close();
});

test("a missing event links back to the feed", async () => {
  const page = await dashboard.open("/p/default/events/019a0000-0000-7000-8000-000000000000");
  const panel = page.getByRole("region", { name: "Event", exact: true });
  await panel.getByRole("heading", { name: "Event not found" }).waitFor();
  await panel.getByRole("button", { name: "Delete event" }).waitFor({ state: "detached" });
  expect(await panel.getByRole("button", { name: "Retry" }).count()).toBe(0);
  await panel.getByRole("button", { name: "Back to feed" }).last().click();
  await panel.waitFor({ state: "detached" });
  await page.context().close();
});

test("older rows show the time, below a heading with their day", async () => {
  const createdAt = new Date(Date.now() - 4 * dayMs);
  createdAt.setUTCHours(14, 5, 0, 0);
  await dashboard.post({ channel: "old", name: "Days ago", createdAt: createdAt.toISOString() });
  const page = await openFeed("old", { locale: "en-US", timezoneId: "UTC" });
  expect(await article(page, "Days ago").locator("time").textContent()).toMatch(/^2:05\sPM$/);
  await page.context().close();
});

longTest("a German browser shows English dates in its own order, and 24-hour times", async () => {
  const createdAt = new Date(Date.now() - 4 * dayMs);
  createdAt.setUTCHours(14, 5, 0, 0);
  const { id } = await dashboard.post({ channel: "german", name: "Tag", createdAt: createdAt.toISOString() });
  const page = await openFeed("german", { locale: "de-DE", timezoneId: "UTC" });
  const weekday = createdAt.toLocaleDateString("en", { weekday: "long", timeZone: "UTC" });
  await page.getByRole("feed").getByText(weekday).waitFor();
  expect(await article(page, "Tag").locator("time").textContent()).toBe("14:05");
  await page.goto(`${dashboard.address}/p/default/events/${id}`);
  const month = createdAt.toLocaleDateString("en", { month: "short", timeZone: "UTC" });
  await page
    .getByRole("region", { name: "Event", exact: true })
    .getByText(new RegExp(`^\\d+ ${month}.* 14:05`))
    .waitFor();
  await page.context().close();
});
