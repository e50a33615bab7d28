import { expect } from "bun:test";
import axe from "axe-core";
import type { BrowserContext, Page } from "playwright-core";

/** Opens a page, and collects what the browser says of itself that nobody wants to read. */
export async function openPage(context: BrowserContext): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  return { page, complaints };
}

/** Waits for all motion that has an end, as a script for the page. */
const settling = `Promise.all(
  document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
    .map(({ finished }) => finished.catch(() => {})),
)`;

/** Fails where axe-core finds a violation on the page. */
export async function expectAccessible(what: string, page: Page): Promise<void> {
  // Motion is waited for: a text that is still fading in has too little contrast.
  // A dialog hides it from roles.
  await page.locator("main").first().waitFor({ state: "attached" });
  await page.evaluate(settling);
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  const found = violations.map(
    ({ id, nodes }) => `${what}: ${id}: ${nodes[0]!.html} ${nodes[0]!.failureSummary}`,
  );
  expect(found).toEqual([]);
}
