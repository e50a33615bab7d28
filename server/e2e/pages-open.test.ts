/** Every page opens, with what it shows, without an error in the console. `pages-accessibility.test.ts` looks closer. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { memberPages, openPages } from "../testing/sample-pages.ts";
import { type SampleShop, startShop } from "../testing/sample-shop.ts";
import { openPage } from "./browser/browser-page.ts";
import { launchChromium } from "./browser/chromium.ts";

const directory = mkdtempSync(join(tmpdir(), "tidings-pages-"));
const noIds = { eventId: "", boardId: "", heartbeatId: "", monitorId: "", cohortId: "" };
let shop: SampleShop;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let complaints: string[];
let visitorPaths: Record<string, string>;
let memberPaths: Record<string, string>;

beforeAll(async () => {
  [shop, browser] = await Promise.all([startShop(directory), launchChromium()]);
  visitorPaths = { ...openPages, "public-board": await shop.publicBoard() };
  memberPaths = memberPages(shop);
  context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  ({ page, complaints } = await openPage(context));
});

afterAll(async () => {
  await browser?.close();
  await shop?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Opens a page and returns what the browser complained of meanwhile. */
async function complaintsOf(path: string): Promise<string[]> {
  await page.goto(shop.address + path);
  await page.locator("main h1, main h2").first().waitFor({ state: "attached" });
  await page.locator("[data-skeleton]").first().waitFor({ state: "detached" });
  return complaints.splice(0);
}

describe("without a session, a page opens without an error:", () => {
  // Requests fail without a session, and with tokens that don't exist. The browser reports each.
  const refused = /the server responded with a status of 40[014]/;

  test.each([...Object.keys(openPages), "public-board"])("%s", async (name) => {
    const unexpected = (await complaintsOf(visitorPaths[name]!)).filter((text) => !refused.test(text));
    expect(unexpected).toEqual([]);
  });
});

describe("to a member, a page opens without an error:", () => {
  beforeAll(() => context.addCookies(shop.cookies.map((cookie) => ({ ...cookie, url: shop.address }))));

  test.each(Object.keys(memberPages(noIds)))("%s", async (name) => {
    expect(await complaintsOf(memberPaths[name]!)).toEqual([]);
  });
});
