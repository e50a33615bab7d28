// @long
/** How rows use their width, and what stays in reach beside many channels and messages. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../testing/until.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

let dashboard: TestDashboard;

const tags = {
  amount: "184.50",
  currency: "EUR",
  method: "card",
  plan: "pro",
  country: "DE",
  reason: "card_declined_by_the_bank",
};
const channels = 200;

beforeAll(async () => {
  dashboard = await openDashboard();
  await dashboard.post(Array.from({ length: channels }, (_, n) => ({ channel: `${n}`, name: "Old" })));
  await dashboard.post({ channel: "payments", name: "Payment failed", userId: "cus_1", tags });
}, 60_000);

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const chipsOf = (page: Page) => page.locator("button[title^='Only events with']:not([title*='this name'])");

test("a row shows all tags that there is room for, first those of its channel's settings", async () => {
  const page = await dashboard.open("/p/default/channels/payments");
  const row = page.getByRole("article").filter({ hasText: "Payment failed" });
  await row.waitFor();
  expect(await chipsOf(page).allTextContents()).toEqual(
    Object.entries(tags).map(([key, value]) => `${key}${value}`),
  );
  await page.getByRole("button", { name: "Edit channel" }).click();
  const dialog = page.getByRole("dialog");
  for (const key of ["reason", "country"])
    await dialog.getByRole("button", { name: `Show ${key} first` }).click();
  await dialog.getByLabel("Tags shown first", { exact: true }).fill("unheard of");
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Remove unheard of" }).waitFor();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const firstTwo = async () => (await chipsOf(page).allTextContents()).slice(0, 2);
  await until(async () => (await firstTwo()).join() === `reason${tags.reason},countryDE`);

  const headers = { origin: dashboard.address };
  const data = {
    name: "Wide",
    tiles: [{ id: "f", type: "feed", q: "failed", x: 0, y: 0, w: 12, h: 4 }],
  };
  const created = await page.request.post(`${dashboard.address}/api/boards?project=default`, {
    data,
    headers,
  });
  const { board } = (await created.json()) as { board: { id: string } };
  await page.goto(`${dashboard.address}/p/default/boards/${board.id}`);
  await page.getByRole("link", { name: "Payment failed" }).waitFor();
  await until(async () => (await firstTwo()).join() === `reason${tags.reason},countryDE`);
  await chipsOf(page).first().click();
  await page.waitForURL(/\?tag\.reason=card_declined_by_the_bank$/);
  await page.context().close();
}, 20_000);

test("beside 200 channels, Tab soon leads out of the sidebar, and arrow keys lead through it", async () => {
  const page = await dashboard.open("/p/default");
  const nav = page.getByRole("navigation", { name: "Channels" });
  await nav.getByRole("link", { name: /^199 / }).waitFor({ state: "attached" });
  const listed = await page.evaluate<string[]>(
    `[...document.querySelectorAll("[data-channel]")].map((a) => a.dataset.channel)`,
  );
  expect(listed).toEqual([...Array.from({ length: channels }, (_, n) => `${n}`), "payments"]);

  const focused = () =>
    page.evaluate<string>("document.activeElement.ariaLabel ?? document.activeElement.textContent");
  const passed: string[] = [];
  while (passed.at(-1) !== "Boards" && passed.length < 20) {
    await page.keyboard.press("Tab");
    passed.push(await focused());
  }
  expect(passed.at(-1)).toBe("Boards");
  expect(passed.length).toBeLessThan(10);

  await page.keyboard.press("Shift+Tab");
  expect(await focused()).toStartWith("0");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  expect(await focused()).toStartWith("2");
  await page.keyboard.press("ArrowRight");
  expect(await focused()).toBe("Actions for 2");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("End");
  expect(await focused()).toStartWith("payments");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "payments" }).waitFor();
  // Tab comes back to where the arrow keys were.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Shift+Tab");
  expect(await focused()).toStartWith("payments");
  await page.context().close();
}, 20_000);

test("the bell says what it shows, and messages cover no control", async () => {
  const page = await dashboard.open("/p/default");
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Save as image" }).waitFor();
  await dashboard.post(Array.from({ length: 120 }, () => ({ channel: "0", name: "New", notify: true })));
  const bell = page.getByRole("button", { name: "Notifications, 99+ unread", exact: true });
  await bell.waitFor();
  expect(await bell.textContent()).toBe("99+");
  await page.locator("[data-toast]").first().waitFor();
  const covered = await page.evaluate<string[]>(`(() => {
    const toasts = [...document.querySelectorAll("[data-toast]")].map((each) => each.getBoundingClientRect());
    return [...document.querySelectorAll("button, a, input, select")]
      .filter((each) => !each.closest("[data-toast], [role=feed]"))
      .filter((each) => {
        const { left, right, top, bottom } = each.getBoundingClientRect();
        return toasts.some((toast) => left < toast.right && right > toast.left && top < toast.bottom && bottom > toast.top);
      })
      .map((each) => each.ariaLabel ?? each.textContent);
  })()`);
  expect(covered).toEqual([]);
  await page.context().close();
}, 20_000);

test("what arrives late moves nothing on a phone", async () => {
  await dashboard.put("/api/users/cus_1", { plan: "pro" });
  const context = await dashboard.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await context.addInitScript(`
    window.layoutShift = 0;
    new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) window.layoutShift += value;
    }).observe({ type: "layout-shift", buffered: true });
  `);
  await context.route("**/api/**", async (route) => {
    await Bun.sleep(300);
    await route.continue();
  });
  const page = await context.newPage();
  for (const [path, last] of [
    ["users", page.getByRole("button", { name: "Columns" })],
    ["boards", page.getByRole("button", { name: "Menu of the board" })],
  ] as const) {
    await page.goto(`${dashboard.address}/p/default/${path}`);
    await last.waitFor();
    // 0.1 is what people notice (https://web.dev/articles/cls).
    expect(await page.evaluate<number>("window.layoutShift")).toBeLessThan(0.02);
  }
  await context.close();
}, 20_000);
