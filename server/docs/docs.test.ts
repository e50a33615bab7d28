/** The documentation over HTTP and in a browser. Its examples: `examples.test.ts`. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { launchChromium } from "../e2e/browser/chromium.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(app.address + path, { headers });
}

describe("pages", () => {
  test("need no session, may run no script of others, and are cached", async () => {
    for (const path of ["/docs", "/docs/", "/docs/api", "/docs/api/events", "/docs/javascript"]) {
      const response = await get(path);
      expect([path, response.status]).toEqual([path, 200]);
      expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(await response.text()).not.toMatch(/<[^>]* style=|<style|<script>|<[^>]*\son\w+=/);
      const again = await get(path, { "if-none-match": response.headers.get("etag")! });
      expect([path, again.status]).toEqual([path, 304]);
    }
  });

  test("are compressed", async () => {
    const response = await fetch(`${app.address}/docs/api`, {
      headers: { "accept-encoding": "br" },
      decompress: false,
    });
    expect(response.headers.get("content-encoding")).toBe("br");
  });

  test("that don't exist return 404 with the list of pages", async () => {
    for (const path of ["/docs/nothing", "/docs/api/nothing", "/docs/..%2findex"]) {
      const response = await get(path, { accept: "text/html" });
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.text()).toContain('href="/docs/first-event"');
    }
  });

  test("have their pictures", async () => {
    const overview = await (await get("/docs")).text();
    const paths = new Set([...overview.matchAll(/href="(\/docs\/[\w/-]+)"/g)].map(([, path]) => path!));
    const texts = await Promise.all([...paths].map(async (path) => (await get(path)).text()));
    const pictures = texts.flatMap((text) =>
      [...text.matchAll(/<img src="(\/docs\/[^"]+)"/g)].map(([, path]) => path!),
    );
    expect(pictures.length).toBeGreaterThan(0);
    for (const path of pictures) {
      const { status, headers } = await get(path);
      expect([path, status, headers.get("content-type")]).toEqual([path, 200, "image/webp"]);
    }
  });

  test('lead from "client library" to the library, in the navigation and in texts', async () => {
    const overview = await (await get("/docs")).text();
    expect(overview).toContain('<a href="/docs/javascript">Client library</a>');
    const pages = [...overview.matchAll(/href="(\/docs\/[\w/-]+)"/g)].map(([, path]) => path!);
    expect(pages.length).toBeGreaterThan(30);
    for (const path of new Set(pages)) {
      const text = await (await get(path)).text();
      const links = [...text.matchAll(/<a href="([^"#]*)[^"]*">(?:the |The )?[Cc]lient library<\/a>/g)];
      expect([path, links.filter(([, href]) => href !== "/docs/javascript")]).toEqual([path, []]);
    }
  });

  test("describe every operation", async () => {
    const description = (await (await get("/openapi.json")).json()) as {
      paths: Record<string, Record<string, { tags: string[]; summary: string }>>;
    };
    const overview = await (await get("/docs/api")).text();
    const pages = [...overview.matchAll(/href="(\/docs\/api\/[\w-]+)"/g)].map(([, path]) => path!);
    const texts = await Promise.all([...new Set(pages)].map(async (path) => (await get(path)).text()));
    for (const [path, methods] of Object.entries(description.paths))
      for (const { summary } of Object.values(methods))
        expect(
          texts.some(
            (text) =>
              text.includes(`<code>${path}</code>`) &&
              text.includes(Bun.escapeHTML(summary).replaceAll("&#x27;", "'")),
          ),
        ).toBe(true);
  });
});

test("search finds a section and opens it with the keyboard, the list shows the page, and code can be copied", async () => {
  const browser = await launchChromium();
  try {
    const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(`${app.address}/docs`);
    await page.keyboard.press("/");
    await page.keyboard.type("daily quota");
    await page.getByRole("option", { name: "API keys › Daily quota" }).waitFor();
    const first = page.getByRole("option").first();
    expect(await first.getAttribute("aria-selected")).toBe("true");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs\/.+/);
    await page.getByRole("heading", { level: 1 }).waitFor();

    await page.goto(`${app.address}/docs/changelog`);
    const current = page.locator(".pages [aria-current]");
    const { y } = (await current.boundingBox())!;
    expect(y).toBeLessThan(page.viewportSize()!.height);

    await page.goto(`${app.address}/docs/first-event`);
    await page.locator(".code").first().hover();
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("npm start");
    expect(errors).toEqual([]);
  } finally {
    await browser.close();
  }
});
