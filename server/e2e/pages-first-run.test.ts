// @long
/** Setup survives a reload at each step. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { type Running, serve } from "../serve.ts";
import { removeStorage } from "../testing/engine.ts";
import { testConfig, testPasswords } from "../testing/test-app.ts";
import { expectAccessible } from "./browser/browser-page.ts";
import { launchChromium } from "./browser/chromium.ts";

const config = await testConfig();
let running: Running;
let browser: Browser;
let page: Page;
let key: string;

beforeAll(async () => {
  running = await serve(config, { passwords: testPasswords });
  browser = await launchChromium();
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
});

afterAll(async () => {
  await browser?.close();
  await running?.stop();
  await removeStorage(config);
});

const shownKey = async () => /tdg_sk_[0-9A-Za-z]{36}/.exec((await page.locator("main").textContent())!)![0];

test("the key and the command are still there after a reload", async () => {
  const link = new URL(running.setupLink!);
  await page.goto(running.address + link.pathname + link.search);
  await page.reload();
  await page.getByLabel(/^E-?mail/).fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill("correct horse battery");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("Waiting for your first event").first().waitFor();
  key = await shownKey();
  await page.reload();
  await page.getByText("Waiting for your first event").first().waitFor();
  expect(await shownKey()).toBe(key);
  // Also where the address alone leads.
  await page.goto(running.address);
  await page.waitForURL(/\/p\/default$/);
  await page.getByText("Waiting for your first event").first().waitFor();
  expect(await shownKey()).toBe(key);
  await page.reload();
  await page.getByText("Waiting for your first event").first().waitFor();
  expect(await shownKey()).toBe(key);
  await page.goBack();
  await page.getByText("Waiting for your first event").first().waitFor();
});

test("the command uses the browser's address", async () => {
  expect(new URL(running.baseUrl).hostname).toBe("localhost");
  expect(await page.locator("main").textContent()).toContain(`${running.address}/api/events`);
});

test("after the first event, a reload continues there, and the feed then has its bell", async () => {
  const response = await fetch(`${running.address}/api/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ channel: "payments", name: "Payment received", notify: true }),
  });
  expect(response.status).toBe(201);
  const open = page.getByRole("link", { name: "Open the feed" });
  await open.waitFor();
  await page.reload();
  await open.click();
  await page.getByRole("article").first().waitFor();
  await page.getByRole("button", { name: "Notifications, 1 unread" }).waitFor();
});

test("the link doesn't ask signed-in users to sign in, and the key is gone once the feed opens", async () => {
  const link = new URL(running.setupLink!);
  await page.goto(running.address + link.pathname + link.search);
  await page.getByRole("heading", { name: "Tidings is set up" }).waitFor();
  expect(await page.locator("main").textContent()).not.toContain(key);
  await expectAccessible("set up already", page);
  await page.getByRole("link", { name: "Open the feed" }).click();
  await page.getByRole("article").first().waitFor();
});
