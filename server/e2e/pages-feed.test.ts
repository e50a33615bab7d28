/** The feed: runs of repeated events, pause, densities, and filters by a click. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { longTest } from "../testing/long-test.ts";
import { until } from "../testing/until.ts";
import { expectAccessible } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;

beforeAll(async () => {
  dashboard = await openDashboard();
  // In no time zone does a day begin within these seconds.
  const createdAt = (second: number) => Date.UTC(2026, 0, 31, 10, 10, second);
  await dashboard.post([
    { channel: "orders", name: "Order placed", userId: "u1", tags: { plan: "pro" }, createdAt: createdAt(0) },
    ...Array.from({ length: 5 }, (_, n) => ({
      channel: "errors",
      name: "Page not found",
      tags: { path: `/${n}` },
      createdAt: createdAt(n + 1),
    })),
    {
      channel: "orders",
      name: "Order shipped",
      userId: "u2",
      tags: { plan: "free" },
      createdAt: createdAt(9),
    },
  ]);
  page = await dashboard.open("/p/default");
  await article("Order shipped").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
});

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const article = (text: string) => page.getByRole("article").filter({ hasText: text });
const run = () => page.getByRole("button", { name: "Page not found × 5", exact: true });
/** The names of the rows, from the newest. */
const names = () =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll("article")].sort((a, b) => a.ariaPosInSet - b.ariaPosInSet)
      .map((row) => document.getElementById(row.getAttribute("aria-labelledby")).textContent)`,
  );

test("a run of the same event is one row, which a click unfolds and folds", async () => {
  expect(await names()).toEqual(["Order shipped", "Page not found× 5", "Order placed"]);
  await expectAccessible("a folded feed", page);
  await run().click();
  await article("/4").waitFor();
  expect(await article("Page not found").count()).toBe(6);
  await expectAccessible("an unfolded feed", page);
  await run().click();
  await article("/4").waitFor({ state: "detached" });
});

test("the keyboard chooses a run, unfolds it, and opens the events in it", async () => {
  const focused = (text: string) =>
    until(() => page.evaluate(`document.activeElement.textContent.includes(${JSON.stringify(text)})`));
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await focused("Order shipped");
  await page.keyboard.press("j");
  await focused("× 5");
  await page.keyboard.press("Enter");
  await article("/4").waitFor();
  await page.keyboard.press("j");
  await focused("/4");
  await page.keyboard.press("Enter");
  await page
    .getByRole("region", { name: "Event", exact: true })
    .getByRole("heading", { name: "Page not found" })
    .waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("region", { name: "Event", exact: true }).waitFor({ state: "detached" });
  await page.keyboard.press("ArrowLeft");
  await article("/4").waitFor({ state: "detached" });
  await focused("× 5");
});

test("a paused feed holds new events and counts them until it is resumed", async () => {
  await page.keyboard.press("p");
  await page.getByRole("button", { name: "Feed paused", exact: true }).waitFor();
  await dashboard.post({ channel: "orders", name: "While paused" });
  await page.getByRole("button", { name: "Feed paused · 1 new" }).waitFor();
  // The top of the list is no reason to move it.
  await page.keyboard.press("g");
  expect(await article("While paused").count()).toBe(0);
  await page.getByRole("button", { name: "Feed paused · 1 new" }).click();
  await article("While paused").waitFor();
  await page.getByRole("button", { name: "Pause the feed" }).waitFor();
});

longTest("rows are comfortable or compact, folded or not, as this browser last chose", async () => {
  const height = async () => (await article("Order placed").boundingBox())!.height;
  const choose = async (item: string) => {
    await page.getByRole("button", { name: "Display" }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  expect(await height()).toBe(52);
  await choose("Compact");
  await until(async () => (await height()) === 32);
  await choose("Fold repeated events");
  await article("/4").waitFor();
  expect(await run().count()).toBe(0);
  await page.reload();
  await article("/4").waitFor();
  expect(await height()).toBe(32);
  await choose("Fold repeated events");
  await run().waitFor();
  await choose("Comfortable");
});

test("a click on a value filters by it, and with Alt leaves it out", async () => {
  await article("Order placed").getByRole("button", { name: "plan pro" }).click();
  await page.waitForURL("**/p/default?tag.plan=pro");
  await article("Order shipped").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Remove filter: plan pro" }).click();
  await article("Order shipped")
    .getByRole("link", { name: "u2" })
    .click({ modifiers: ["Alt"] });
  await page.waitForURL("**/p/default?q=-user:u2");
  await article("Order placed").waitFor();
  await article("Order shipped").waitFor({ state: "detached" });
  await article("Order placed")
    .getByRole("link", { name: "orders" })
    .click({ modifiers: ["Shift"] });
  await page.waitForURL("**/p/default?q=-user:u2+-channel:orders");
  await run().waitFor();
  await page.getByRole("button", { name: /^Remove filter: search/ }).click();
  await article("Order placed").hover();
  await article("Order placed").getByRole("button", { name: "Only events named Order placed" }).click();
  await page.waitForURL("**/p/default?name=Order+placed");
  await article("Order shipped").waitFor({ state: "detached" });
  await page.goto(`${dashboard.address}/p/default?name=Page+not+found`);
  // Who asks for one name wants its events.
  await article("/4").waitFor();
  expect(await run().count()).toBe(0);
});

longTest("recent searches are offered in the empty field", async () => {
  await page.goto(`${dashboard.address}/p/default`);
  await run().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("plan=pro shipped");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Remove filter: plan pro" }).waitFor();
  await page.goto(`${dashboard.address}/p/default`);
  await run().waitFor();
  await page.keyboard.press("/");
  await page.getByRole("option", { name: "plan=pro shipped" }).click();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Remove filter: plan pro" }).waitFor();
});
