// @long
/** axe-core on every page of a shop with a month of events: on a desktop and a phone, light and dark. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { addAwkwardTexts } from "../testing/awkward-texts.ts";
import { memberPages, openPages } from "../testing/sample-pages.ts";
import { type SampleShop, startShop } from "../testing/sample-shop.ts";
import { violationsOf } from "./browser/browser-page.ts";
import { launchChromium } from "./browser/chromium.ts";

const directory = mkdtempSync(join(tmpdir(), "tidings-accessibility-"));
let shop: SampleShop;
let browser: Browser;
let pages: Record<string, string>;
let visitorPages: Record<string, string>;

beforeAll(async () => {
  [shop, browser] = await Promise.all([startShop(directory), launchChromium()]);
  visitorPages = {
    ...openPages,
    "public-board": await shop.publicBoard(),
    docs: "/docs",
    api: "/docs/api",
    reference: "/docs/api/events",
  };
  const awkward = Object.entries(await addAwkwardTexts(shop));
  pages = {
    ...memberPages(shop),
    ...Object.fromEntries(awkward.map(([name, id]) => [name, `/p/default/events/${id}`])),
    "no-match": "/p/default?q=nothing-like-this",
    "not-found": "/p/default/nowhere",
  };
});

afterAll(async () => {
  await browser?.close();
  await shop?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const variants = [
  { width: 1440, height: 900, colorScheme: "light" },
  { width: 1440, height: 900, colorScheme: "dark" },
  { width: 390, height: 844, colorScheme: "light" },
  { width: 390, height: 844, colorScheme: "dark" },
] as const;

/** Waits until the page shows what it has loaded. */
async function settled(page: Page): Promise<void> {
  await page.locator("main h1, main h2").first().waitFor({ state: "attached" });
  await page.locator("[data-skeleton]").first().waitFor({ state: "detached" });
}

async function checkAll(page: Page, paths: Record<string, string>): Promise<string[]> {
  const problems: string[] = [];
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(shop.address + path);
    await settled(page);
    problems.push(...(await violationsOf(name, page)));
    const { scrollWidth, clientWidth } = await page.evaluate<{ scrollWidth: number; clientWidth: number }>(
      "(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }))(document.documentElement)",
    );
    if (scrollWidth > clientWidth) problems.push(`${name} is ${scrollWidth} pixels wide, in ${clientWidth}.`);
  }
  return problems;
}

test.each(variants)(
  "every page at $width pixels, $colorScheme",
  async ({ colorScheme, ...viewport }) => {
    const context = await browser.newContext({ viewport, colorScheme });
    const page = await context.newPage();
    const problems = await checkAll(page, visitorPages);
    await context.addCookies(shop.cookies.map((cookie) => ({ ...cookie, url: shop.address })));
    problems.push(...(await checkAll(page, pages)));
    await context.close();
    expect(problems).toEqual([]);
  },
  600_000,
);

test("every page of the router is among them", () => {
  const router = readFileSync(join(import.meta.dir, "../../dashboard/router.tsx"), "utf8");
  const paths = [...Object.values(pages), ...Object.values(visitorPages)].map((path) =>
    path.replace(/\?.*/, ""),
  );
  const missing = [...router.matchAll(/(?:page|open)\(\s*"(\/[^"]+)"|path: "(\/[^"]+)"/g)]
    .map(([, a, b]) => (a ?? b)!)
    .filter((route) => {
      const pattern = new RegExp(`${route.replaceAll(/\$\w+/g, "[^/]+")}$`);
      return !paths.some((path) => pattern.test(path));
    });
  expect(missing).toEqual([]);
});
