// @long
/** The libraries of other services for web pages, in a browser, on a page of another origin: alone, and beside our script. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { launchChromium } from "../e2e/browser/chromium.ts";
import type { User } from "../schemas/user.ts";
import type { PageGlobals } from "../testing/libraries-of-pages.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

describe.each([
  ["alone", false],
  ["beside our script", true],
])("%s", (_, hasOwnScript) => {
  let app: TestApp;
  let browser: Browser;
  let site: Bun.Server<undefined>;
  let key: string;
  /** How often the page was opened. */
  let opened = 0;

  beforeAll(async () => {
    const { outputs } = await Bun.build({
      entrypoints: [join(import.meta.dir, "../testing/libraries-of-pages.ts")],
      target: "browser",
      define: { "process.env.NODE_ENV": '"production"' },
    });
    const script = await outputs[0]!.text();
    site = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) =>
        new URL(url).pathname === "/libraries.js"
          ? new Response(script, { headers: { "content-type": "text/javascript" } })
          : new Response(
              `<!doctype html><title>Shop</title>${ownScript()}<script src="/libraries.js"></script><button>Buy</button>`,
              { headers: { "content-type": "text/html" } },
            ),
    });
    app = await testApp();
    const response = await app.request("/api/keys?project=default", {
      method: "POST",
      headers: { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" },
      body: JSON.stringify({ name: "Shop", kind: "publishable", origins: [site.url.origin] }),
    });
    key = ((await response.json()) as { secret: string }).secret;
    browser = await launchChromium();
  });
  afterAll(async () => {
    if (hasOwnScript) await expectPageViews();
    await browser.close();
    await site.stop(true);
    await app[Symbol.asyncDispose]();
  });

  function ownScript(): string {
    return hasOwnScript ? `<script defer src="${app.address}/t.js" data-key="${key}"></script>` : "";
  }

  async function expectPageViews(): Promise<void> {
    const views = async () => (await app.list("?channel=website&name=Page+view")).length;
    await until(async () => (await views()) === opened);
  }

  /** Opens the page, and collects what goes wrong on it. */
  async function openPage(): Promise<{ page: Page; faults: string[] }> {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("console", (message) => faults.push(message.text()));
    page.on("response", (response) => {
      if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`);
    });
    await page.goto(site.url.href);
    opened++;
    return { page, faults };
  }

  async function propertiesOf(userId: string): Promise<User["properties"]> {
    const response = await app.request(`/api/users/${encodeURIComponent(userId)}`);
    return ((await response.json()) as { user: User }).user.properties;
  }

  test("analytics.js sends pages and events", async () => {
    const { page, faults } = await openPage();
    await page.evaluate(
      async ({ host, writeKey }) => {
        const { AnalyticsBrowser } = globalThis as unknown as PageGlobals;
        // Without these, the library asks a server of Segment's for its settings.
        const integrations = { "Segment.io": { apiKey: writeKey, apiHost: `${host}/v1`, protocol: "http" } };
        const analytics = AnalyticsBrowser.load({ writeKey, cdnSettings: { integrations } });
        await analytics.page("Home");
        await analytics.track("Order Completed", { total: 49.5 });
      },
      { host: new URL(app.address).host, writeKey: key },
    );
    await until(async () => (await app.list("?channel=segment")).length === 2);
    const events = await app.list("?channel=segment");
    expect(events.map(({ name }) => name).toSorted()).toEqual(["Order Completed", "Viewed Home Page"]);
    const order = events.find(({ name }) => name === "Order Completed")!;
    expect(order.tags).toMatchObject({ total: "49.5", "context.page.title": "Shop" });
    expect(order.userId).not.toBe("");
    expect(faults).toEqual([]);
    await page.close();
  });

  test("analytics.js in batches, also when the page is left", async () => {
    const { page, faults } = await openPage();
    const names = async () => (await app.list("?channel=segment&userId=batched")).map(({ name }) => name);
    await page.evaluate(
      async ({ host, writeKey }) => {
        const { AnalyticsBrowser } = globalThis as unknown as PageGlobals;
        const segment = { apiKey: writeKey, apiHost: `${host}/v1`, protocol: "http" };
        const analytics = AnalyticsBrowser.load(
          { writeKey, cdnSettings: { integrations: { "Segment.io": segment } } },
          {
            integrations: {
              "Segment.io": {
                deliveryStrategy: { strategy: "batching", config: { size: 10, timeout: 1_000 } },
              },
            },
          },
        );
        Object.assign(globalThis, { analytics });
        await analytics.identify("batched", { plan: "pro" });
        await analytics.group("g1", { name: "ACME" });
        for (let index = 0; index < 25; index++) await analytics.track(`Step ${index}`);
      },
      { host: new URL(app.address).host, writeKey: key },
    );
    await until(async () => (await names()).length === 25);
    await page.evaluate(async () => {
      const { analytics } = globalThis as unknown as PageGlobals;
      for (let index = 25; index < 30; index++) await analytics.track(`Step ${index}`);
    });
    await page.goto("about:blank");
    await until(async () => (await names()).length === 30);
    const steps = Array.from({ length: 30 }, (_, index) => `Step ${index}`);
    expect((await names()).toSorted()).toEqual(steps.toSorted());
    expect(await propertiesOf("batched")).toEqual({});
    expect(faults).toEqual([]);
    await page.close();
  });

  test("posthog-js captures, in batches and when the page is left", async () => {
    const { page, faults } = await openPage();
    await page.evaluate(
      ({ api_host, token }) => {
        const { posthog } = globalThis as unknown as PageGlobals;
        posthog.init(token, {
          api_host,
          advanced_disable_flags: true,
          autocapture: false,
          capture_pageview: true,
          person_profiles: "always",
          opt_out_useragent_filter: true,
        });
        posthog.identify("u1", { plan: "pro" });
        posthog.capture("Order Completed", { total: 49.5 });
      },
      { api_host: app.address, token: key },
    );
    await until(async () => (await app.list("?channel=posthog&name=Order+Completed")).length === 1);
    const [order] = await app.list("?channel=posthog&name=Order+Completed");
    expect(order).toMatchObject({ userId: "u1", tags: { total: "49.5" } });
    await page.evaluate(() => (globalThis as unknown as PageGlobals).posthog.capture("Cart Left"));
    await page.goto("about:blank");
    await until(async () => (await app.list("?channel=posthog&name=Cart+Left")).length === 1);
    expect((await app.list("?channel=posthog")).map(({ name }) => name)).toContain("$pageview");
    // A publishable key can't set properties.
    expect(await propertiesOf("u1")).toEqual({});
    expect(faults).toEqual([]);
    await page.close();
  });

  test("posthog-js with its defaults: its settings, clicks, a user, and the end of a visit", async () => {
    for (const defaults of [undefined, "2026-01-30"] as const) {
      const { page, faults } = await openPage();
      const userId = `defaults ${defaults}`;
      await page.evaluate(
        ({ api_host, token, defaults, userId }) => {
          const { posthog } = globalThis as unknown as PageGlobals;
          // A browser that a program drives is taken for a bot otherwise.
          posthog.init(token, { api_host, opt_out_useragent_filter: true, ...(defaults && { defaults }) });
          posthog.identify(userId, { plan: "pro" });
          posthog.setPersonProperties({ plan: "free" });
          posthog.captureException(new TypeError("total is undefined"));
          return new Promise<void>((resolve) => posthog.onFeatureFlags(() => resolve()));
        },
        { api_host: app.address, token: key, defaults, userId },
      );
      // Autocapture begins once the settings are there.
      await page.waitForFunction(() => (globalThis as unknown as PageGlobals).posthog.autocapture?.isEnabled);
      await page.evaluate(() =>
        (globalThis as unknown as PageGlobals).posthog.isFeatureEnabled("new-checkout"),
      );
      await page.click("button");
      await page.goto("about:blank");
      const names = async () =>
        (await app.list(`?channel=posthog&userId=${encodeURIComponent(userId)}`)).map(({ name }) => name);
      await until(async () => (await names()).includes("$pageleave"));
      const expected = ["$autocapture", "$pageleave", "TypeError: total is undefined"];
      await until(
        async () => (await names()).filter((name) => name !== "$pageview").length === expected.length,
      );
      expect((await names()).filter((name) => name !== "$pageview").toSorted()).toEqual(expected);
      expect((await app.list("?channel=posthog")).map(({ name }) => name)).toContain("$pageview");
      expect(await propertiesOf(userId)).toEqual({});
      expect(faults).toEqual([]);
      await page.close();
    }
  });
});
