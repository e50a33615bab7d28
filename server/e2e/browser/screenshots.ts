/**
 * Takes screenshots of the dashboard with a populated database.
 *
 *   npm run screenshots                    replaces docs/screenshots/: the pictures that the documentation shows, with
 *                                          those that night.ts takes
 *   npm run screenshots -- /tmp/shots      writes there each page and dialog, and awkward texts, in both themes and
 *                                          four sizes
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { addAwkwardTexts } from "../../testing/awkward-texts.ts";
import { memberPages, openPages } from "../../testing/sample-pages.ts";
import { demo, startShop } from "../../testing/sample-shop.ts";
import { startServer } from "../../testing/server-process.ts";
import { launchChromium } from "./chromium.ts";
import { smallPicture } from "./small-picture.ts";

const [customTarget, only] = process.argv.slice(2);
const target = customTarget ?? join(import.meta.dir, "../../../docs/screenshots");
const desktop = { width: 1440, height: 900 };
const sizes = {
  "": desktop,
  ...(customTarget && {
    "-phone": { width: 390, height: 844 },
    "-laptop": { width: 1024, height: 768 },
    "-tablet": { width: 768, height: 1024 },
  }),
};
const themes = ["light", "dark"] as const;
/** The pictures in docs/screenshots/. */
const shownInDocs = ["feed-light", "board-light", "board-dark"];

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).first();

/** Dialogs and menus: the page they are on, and how they are opened. */
const dialogs: Record<string, [keyof ReturnType<typeof memberPages>, (page: Page) => Promise<unknown>]> = {
  palette: ["feed", (page) => page.keyboard.press("Control+k")],
  help: ["feed", (page) => page.keyboard.press("?")],
  suggestions: ["feed", (page) => page.getByLabel("Search and filter").pressSequentially("plan=")],
  mistake: [
    "feed",
    async (page) => {
      await page.getByLabel("Search and filter").fill("(channel:payments");
      await page.keyboard.press("Enter");
    },
  ],
  time: ["feed", (page) => page.keyboard.press("t")],
  "save-view": ["search", (page) => button(page, "Save view").click()],
  "edit-channel": ["channel", (page) => button(page, "Edit channel").click()],
  "new-key": ["keys", (page) => button(page, "New API key").click()],
  "new-rule": ["rules", (page) => button(page, /^New rule/).click()],
  "new-destination": ["destinations", (page) => button(page, "Add a destination").click()],
  "new-webhook": ["webhooks", (page) => button(page, /^New webhook/).click()],
  invite: ["members", (page) => button(page, /^Invite/).click()],
  fix: ["rejected", (page) => button(page, "Fix and resend").click()],
  "edit-board": ["board", (page) => page.keyboard.press("e")],
  "new-tile": [
    "board",
    async (page) => {
      await page.keyboard.press("e");
      await button(page, "Add tile").click();
    },
  ],
  "board-menu": ["board", (page) => button(page, "Menu of the board").click()],
  bell: ["feed", (page) => button(page, /^Notifications/).click()],
  erase: ["user", (page) => button(page, /^Erase/).click()],
  "delete-project": ["settings", (page) => button(page, /^Delete project/).click()],
};

const dataDirectory = mkdtempSync(join(tmpdir(), "tidings-screenshots-"));
const emptyDirectory = mkdtempSync(join(tmpdir(), "tidings-screenshots-"));
mkdirSync(target, { recursive: true });

const browser = await launchChromium();
try {
  if (customTarget) await shootSetup(browser);
  await shootPages(browser);
} finally {
  await browser.close();
  for (const directory of [dataDirectory, emptyDirectory])
    rmSync(directory, { recursive: true, force: true });
}
if (!customTarget) await import("./night.ts");

/** The setup page, and the page that waits for the first event. */
async function shootSetup(browser: Browser): Promise<void> {
  const server = await startServer({ TIDINGS_DATA: emptyDirectory });
  const link = /\/setup\?token=[\w-]+/.exec(server.stdout)![0];
  await forEachVariant(browser, async (page, variant) => {
    await page.goto(server.address + link);
    await shoot(page, `setup${variant}`);
  });
  const page = await browser.newPage({ viewport: desktop, colorScheme: "light" });
  await page.goto(server.address + link);
  await page.getByLabel("Email").fill(demo.email);
  await page.getByLabel("Password", { exact: true }).fill(demo.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("Waiting for your first event").first().waitFor();
  await shoot(page, "waiting-light");
  for (const name of ["users", "boards", "rules", "destinations", "webhooks", "deliveries", "rejected"]) {
    await page.goto(`${server.address}/p/default/${name}`);
    await shoot(page, `${name}-empty-light`);
  }
  await page.close();
  await server.end("SIGTERM");
}

/** The pages of a shop with two months of events. */
async function shootPages(browser: Browser): Promise<void> {
  const shop = await startShop(dataDirectory);
  const { address, cookies } = shop;
  const pages = memberPages(shop);
  const board = await shop.publicBoard();
  const awkward = customTarget ? await addAwkwardTexts(shop) : null;
  await forEachVariant(browser, async (page, variant) => {
    const visit = async (name: string, path: string) => {
      if (customTarget ? only && !new RegExp(only).test(name) : !shownInDocs.includes(name + variant)) return;
      await page.goto(address + path);
      await shoot(page, name + variant);
    };
    await visit("sign-in", openPages["sign-in"]);
    if (customTarget) {
      for (const [name, path] of Object.entries(openPages)) if (name !== "sign-in") await visit(name, path);
      await visit("public-board", `${board}?range=30d`);
      await visit("docs", "/docs");
      await visit("docs-reference", "/docs/api/events");
    }
    await page.context().addCookies(cookies.map((cookie) => ({ ...cookie, url: address })));
    for (const [name, path] of Object.entries(pages)) {
      // Next to the feed on a desktop.
      const shown = name === "feed" && !variant.startsWith("-phone") ? pages.event : path;
      await visit(name, shown);
    }
    if (!awkward) return;
    await visit("feed-alone", pages.feed);
    for (const [name, id] of Object.entries(awkward))
      await visit(`awkward-${name}`, `/p/default/events/${id}`);
    await visit("no-match", "/p/default?q=nothing-like-this");
    await visit("not-found", "/p/default/nowhere");
    for (const [name, [path, open]] of Object.entries(dialogs)) {
      if (only && !new RegExp(only).test(name)) continue;
      await page.goto(address + pages[path]);
      await page.locator("main h1").first().waitFor();
      await page.waitForTimeout(400);
      await open(page).catch(() => console.error(`${name}${variant} couldn't be opened.`));
      await shoot(page, `dialog-${name}${variant}`);
    }
  });
  await shop.stop();
}

async function forEachVariant(
  browser: Browser,
  work: (page: Page, variant: string) => Promise<void>,
): Promise<void> {
  for (const [size, viewport] of Object.entries(sizes)) {
    for (const colorScheme of themes) {
      const context = await browser.newContext({ viewport, colorScheme });
      context.setDefaultTimeout(15_000);
      // This Chromium blocks notifications; a user's browser asks first.
      await context.addInitScript(
        'Object.defineProperty(Notification, "permission", { get: () => "default" })',
      );
      await work(await context.newPage(), `${size}-${colorScheme}`);
      await context.close();
    }
  }
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.waitForLoadState("load");
  // Because of the live stream the network is never idle, so give the page this long to settle.
  await page.waitForTimeout(customTarget ? 900 : 5_000);
  const path = join(target, name);
  if (customTarget) await page.screenshot({ path: `${path}.png` });
  else writeFileSync(`${path}.webp`, await smallPicture(page));
}
