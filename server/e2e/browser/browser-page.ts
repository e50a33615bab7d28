import { expect } from "bun:test";
import axe from "axe-core";
import type { BrowserContext, Page } from "playwright-core";
import { patienceMs } from "../../testing/engine.ts";

/** Opens a page and collects its uncaught errors and console errors. */
export async function openPage(context: BrowserContext): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  return { page, complaints };
}

/** Chooses an action in the menu of a list's row. */
export async function chooseAction(page: Page, row: string, action: string): Promise<void> {
  await page.getByRole("button", { name: `Actions for ${row}`, exact: true }).click();
  await page.getByRole("menuitem", { name: action, exact: true }).click();
}

/** A page script that waits for all finite animations. Those that scrolling drives never finish. */
const animationsFinished = `Promise.all(
  document.getAnimations()
    .filter(({ effect, timeline }) => timeline === document.timeline && effect.getComputedTiming().iterations !== Infinity)
    .map(({ finished }) => finished.catch(() => {})),
)`;

/** Fails if axe-core finds a violation on the page. */
export async function expectAccessible(what: string, page: Page): Promise<void> {
  expect(await violationsOf(what, page)).toEqual([]);
}

/** What axe-core finds wrong with the page, as a sentence for each. */
export async function violationsOf(what: string, page: Page): Promise<string[]> {
  // By selector, because an open dialog hides `main` from queries by role.
  await page.locator("main").first().waitFor({ state: "attached" });
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  const found = await violationsNow(page);
  // A toast may have appeared meanwhile. What is wrong for good is found again.
  const violations = found.length > 0 ? await violationsNow(page) : found;
  return violations.map(({ id, nodes }) => `${what}: ${id}: ${nodes[0]!.html} ${nodes[0]!.failureSummary}`);
}

type Violation = { id: string; help: string; nodes: { html: string; failureSummary: string }[] };

async function violationsNow(page: Page): Promise<Violation[]> {
  // Text that is still fading in has too little contrast.
  await page.evaluate(animationsFinished);
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: Violation[];
  };
  return violations;
}
