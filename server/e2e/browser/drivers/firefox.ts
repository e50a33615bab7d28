import type { TestBrowser } from "./browser.ts";

// Only `npm run test:browsers` installs puppeteer-core, so its types aren't known here. This is what is used of it.
type Puppeteer = {
  launch(options: { browser: "firefox"; executablePath: string; headless: boolean }): Promise<{
    version(): Promise<string>;
    newPage(): Promise<Page>;
    close(): Promise<void>;
  }>;
};
type Page = {
  on(event: "pageerror", listen: (error: unknown) => void): void;
  on(event: "console", listen: (message: { type(): string; text(): string }) => void): void;
  goto(url: string): Promise<unknown>;
  evaluate(expression: string): Promise<unknown>;
  mouse: { click(x: number, y: number): Promise<void> };
  keyboard: {
    type(text: string): Promise<void>;
    down(key: string): Promise<void>;
    up(key: string): Promise<void>;
  };
  setViewport(size: { width: number; height: number }): Promise<void>;
  screenshot(): Promise<Uint8Array>;
};

/** Firefox, driven by Puppeteer over WebDriver BiDi. Playwright can't drive releases of Firefox. */
export async function openFirefox(executablePath: string): Promise<TestBrowser> {
  const puppeteer = await load<Puppeteer>("puppeteer-core");
  const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
  const page = await browser.newPage();
  let complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error instanceof Error ? error.message : String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  return {
    name: (await browser.version()).replace("firefox/", "Firefox "),
    open: async (url) => void (await page.goto(url)),
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

async function load<Export>(name: string): Promise<Export> {
  return (await import(name)).default;
}
