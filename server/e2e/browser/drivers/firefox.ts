import puppeteer, { type Page } from "puppeteer-core";
import { until } from "../../../testing/until.ts";
import type { TestBrowser } from "./browser.ts";

/** Firefox, driven by Puppeteer over WebDriver BiDi. Playwright can't drive releases of Firefox. */
export async function openFirefox(executablePath: string): Promise<TestBrowser> {
  const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
  let complaints: string[] = [];
  let page = await openTab();
  // Puppeteer waits for a page to load, which one that comes back as it was doesn't, and then waits in vain for the next.
  let cameBack = false;

  async function openTab(): Promise<Page> {
    const tab = await browser.newPage();
    tab.on("pageerror", (error) => complaints.push(error instanceof Error ? error.message : String(error)));
    tab.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    return tab;
  }

  async function closeTab(): Promise<void> {
    await page.close();
    page = await openTab();
    cameBack = false;
  }

  return {
    name: (await browser.version()).replace("firefox/", "Firefox "),
    async open(url) {
      if (cameBack) await closeTab();
      await page.goto(url);
    },
    async back() {
      const address = () => page.evaluate("location.href");
      const left = await address();
      await page.evaluate("void setTimeout(() => history.back())");
      await until(() =>
        address().then(
          (now) => now !== left,
          () => false,
        ),
      );
      cameBack = true;
    },
    closeTab,
    evaluate: <Value>(expression: string) => page.evaluate(expression) as Promise<Value>,
    click: (x, y) => page.mouse.click(x, y),
    type: (text) => page.keyboard.type(text),
    async press(...keys) {
      for (const key of keys) await page.keyboard.down(key);
      for (const key of keys.toReversed()) await page.keyboard.up(key);
    },
    resize: (width, height) => page.setViewport({ width, height }),
    screenshot: () => page.screenshot(),
    takeComplaints() {
      const taken = complaints;
      complaints = [];
      return taken;
    },
    close: () => browser.close(),
  };
}
