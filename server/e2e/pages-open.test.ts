/** Every page opens, with what it shows, without an error in the console. `pages-accessibility.test.ts` looks closer. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { memberPages, openPages } from "../testing/sample-pages.ts";
import { type SampleShop, startShop } from "../testing/sample-shop.ts";
import { openPage } from "./browser/browser-page.ts";
import { launchChromium } from "./browser/chromium.ts";

const directory = mkdtempSync(join(tmpdir(), "tidings-pages-"));
let shop: SampleShop;
let browser: Browser;

beforeAll(async () => {
  [shop, browser] = await Promise.all([startShop(directory), launchChromium()]);
});

afterAll(async () => {
  await browser?.close();
  await shop?.stop();
  rmSync(directory, { recursive: true, force: true });
});

test("every page opens without an error", async () => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const { page, complaints } = await openPage(context);
  const open = async (paths: Record<string, string>, expected?: RegExp) => {
    for (const path of Object.values(paths)) {
      await page.goto(shop.address + path);
      await page.locator("main h1, main h2").first().waitFor({ state: "attached" });
      await page.locator("[data-skeleton]").first().waitFor({ state: "detached" });
      const unexpected = complaints.splice(0).filter((complaint) => !expected?.test(complaint));
      expect(unexpected.map((complaint) => `${path}: ${complaint}`)).toEqual([]);
    }
  };
  // Without a session, and with tokens that don't exist, requests fail: the browser reports each.
  const refused = /the server responded with a status of 40[014]/;
  await open({ ...openPages, "public-board": await shop.publicBoard() }, refused);
  await context.addCookies(shop.cookies.map((cookie) => ({ ...cookie, url: shop.address })));
  await open(memberPages(shop));
});
