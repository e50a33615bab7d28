// @long
/** Every page of a shop, with awkward texts, at widths from a small phone to a large screen: nothing is cut. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { addAwkwardTexts } from "../testing/awkward-texts.ts";
import { memberPages, openPages } from "../testing/sample-pages.ts";
import { type SampleShop, startShop } from "../testing/sample-shop.ts";
import { launchChromium } from "./browser/chromium.ts";
import { layoutFaults } from "./browser/layout-faults.ts";

const directory = mkdtempSync(join(tmpdir(), "tidings-widths-"));
let shop: SampleShop;
let browser: Browser;
let pages: Record<string, string>;
let visitorPages: Record<string, string>;

beforeAll(async () => {
  [shop, browser] = await Promise.all([startShop(directory), launchChromium()]);
  visitorPages = { ...openPages, "public-board": await shop.publicBoard(), docs: "/docs" };
  const awkward = Object.entries(await addAwkwardTexts(shop));
  pages = {
    ...memberPages(shop),
    ...Object.fromEntries(awkward.map(([name, id]) => [name, `/p/default/events/${id}`])),
    "no-match": "/p/default?q=nothing-like-this",
    "not-found": "/p/default/nowhere",
  };
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await shop?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Both sides of each width at which the layout changes, and what is between. */
const widths = [360, 390, 480, 600, 767, 768, 777, 860, 960, 1023, 1024, 1152, 1280, 1440, 1680, 1920, 2560];

async function walk(page: Page, paths: Record<string, string>): Promise<string[]> {
  const faults: string[] = [];
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(shop.address + path);
    await page.locator("main h1, main h2").first().waitFor({ state: "attached" });
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 });
      await page.locator("[data-skeleton]").first().waitFor({ state: "detached" });
      faults.push(...(await layoutFaults(page)).map((fault) => `${name} at ${width}: ${fault}`));
    }
  }
  return faults;
}

test("pages for everybody", async () => {
  const page = await browser.newPage();
  expect(await walk(page, visitorPages)).toEqual([]);
}, 300_000);

test("pages for members", async () => {
  const context = await browser.newContext();
  await context.addCookies(shop.cookies.map((cookie) => ({ ...cookie, url: shop.address })));
  expect(await walk(await context.newPage(), pages)).toEqual([]);
}, 600_000);
