/** Searching from the feed to a result: what is typed finds at once, is completed, and is never just refused. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../testing/until.ts";
import { expectAccessible } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;

beforeAll(async () => {
  dashboard = await openDashboard();
  await dashboard.post([
    { channel: "payments", name: "Payment received", userId: "cus_1", tags: { plan: "pro" } },
    { channel: "payments", name: "Payment failed", userId: "cus_2", tags: { plan: "free" } },
    { channel: "payments", name: "Payment failed", userId: "cus_3", tags: { plan: "pro" } },
    { channel: "logins", name: "Signed in", userId: "cus_3", tags: { plan: "pro" } },
  ]);
  page = await dashboard.open("/p/default");
  await article("Signed in").waitFor();
}, 60_000);

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const article = (text: string) => page.getByRole("article").filter({ hasText: text });
const box = () => page.getByRole("combobox", { name: "Search and filter" });
const rows = () => page.getByRole("article").count();
const matches = (text: string) => page.getByText(text, { exact: true }).waitFor();

test("what is typed finds at once, and Enter keeps what is shown", async () => {
  await box().pressSequentially("fail");
  await matches("2 matches");
  await until(async () => (await rows()) === 2);
  await page.getByRole("button", { name: /^payments\s*2$/ }).waitFor();
  expect(page.url()).toEndWith("/p/default?typed=fail");
  await page.getByRole("option", { name: /Payment failed\s*2\s*name/ }).waitFor();
  await expectAccessible("a search that is typed", page);
  // The stream agrees with the list.
  await dashboard.post([
    { channel: "logins", name: "Login failed" },
    { channel: "logins", name: "Signed in" },
  ]);
  await article("Login failed").waitFor();
  await matches("3 matches");
  await page.getByRole("button", { name: /^logins\s*1$/ }).waitFor();
  expect(await rows()).toBe(3);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/p/default?q=fail*");
  expect(await box().inputValue()).toBe("");
  await matches("3 matches");
  expect(await rows()).toBe(3);
  // Back to before anything was typed.
  await page.goBack();
  await page.waitForURL("**/p/default");
  await article("Payment received").waitFor();
});

test("what finds nothing says what would", async () => {
  await page.goto(`${dashboard.address}/p/default/channels/paymnts`);
  await page.getByRole("heading", { name: "There is no channel “paymnts”" }).waitFor();
  await page.getByRole("button", { name: "channel:payments 3 events" }).click();
  await page.waitForURL("**/p/default/channels/payments");
  await box().pressSequentially("paln=free received ");
  await page.getByRole("heading", { name: "No matching events" }).waitFor();
  await page.getByRole("button", { name: "Without paln=free 1 event" }).waitFor();
  await expectAccessible("a search without matches", page);
  await page.getByRole("button", { name: "Without received 1 event" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Without paln=free 1 event" }).click();
  await page.waitForURL("**/p/default/channels/payments?q=received");
  await article("Payment received").waitFor();
  expect(await box().inputValue()).toBe("");
});
