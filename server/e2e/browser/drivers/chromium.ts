import type { Page } from "playwright-core";
import { launchChromium } from "../chromium.ts";
import type { TestBrowser } from "./browser.ts";

/** Chromium, driven by Playwright. */
export async function openChromium(): Promise<TestBrowser> {
  const browser = await launchChromium();
  const context = await browser.newContext();
  // Without any page, it would close when a tab does.
  await context.newPage();
  let complaints: string[] = [];
  let page = await openTab();

  async function openTab(): Promise<Page> {
    const tab = await context.newPage();
    tab.on("pageerror", (error) => complaints.push(error.message));
    tab.on("console", (message) => {
      // A rejected request is an error of Chromium's console, and of no other browser's.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        complaints.push(message.text());
    });
    return tab;
  }

  return {
    name: `Chromium ${browser.version()}`,
    open: async (url) => void (await page.goto(url)),
    back: async () => void (await page.goBack()),
    async closeTab() {
      await page.close({ runBeforeUnload: true });
      page = await openTab();
    },
    evaluate: (expression) => page.evaluate(expression),
    click: (x, y) => page.mouse.click(x, y),
    type: (text) => page.keyboard.type(text),
    press: (...keys) => page.keyboard.press(keys.join("+")),
    resize: (width, height) => page.setViewportSize({ width, height }),
    screenshot: () => page.screenshot(),
    takeComplaints() {
      const taken = complaints;
      complaints = [];
      return taken;
    },
    close: () => browser.close(),
  };
}
