/** The script of web pages in Chromium; `script-browsers.test.ts` has the same in other browsers. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launchChromium } from "../e2e/browser/chromium.ts";
import { openChromium } from "../e2e/browser/drivers/chromium.ts";
import type { Event } from "../event/event.ts";
import { describeScript } from "../testing/script-scenarios.ts";
import { type ScriptSite, scriptSite } from "../testing/script-site.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { desktop, websiteKey } from "../testing/website-visits.ts";

describeScript("Chromium", openChromium);

/** What only Playwright can make a browser do. */
describe("trouble", () => {
  let app: TestApp;
  let browser: Browser;
  let site: ScriptSite;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    app = await testApp();
    site = scriptSite(app.address, await websiteKey(app));
    browser = await launchChromium([`--user-agent=${desktop}`]);
    // With its last page, Chromium would close.
    await browser.newPage();
  });
  afterAll(async () => {
    await browser.close();
    await site[Symbol.asyncDispose]();
    await app[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext({ locale: "de-DE", timezoneId: "Europe/Berlin" });
    page = await context.newPage();
  });

  /** Waits for one event, and returns it. */
  async function onlyEvent(query: string): Promise<Event> {
    await until(async () => (await app.list(query)).length > 0);
    // A second one would come soon.
    await Bun.sleep(300);
    const events = await app.list(query);
    expect(events).toHaveLength(1);
    return events[0]!;
  }

  test("offline, events wait, and are sent once", async () => {
    site.settings.attributes = 'data-channel="offline"';
    await page.goto(site.at("/"));
    const view = await onlyEvent("?channel=offline");
    expect(view.tags).toMatchObject({ country: "DE", language: "de", browser: "Chrome", os: "Windows" });
    await context.setOffline(true);
    await page.getByText("Pro", { exact: true }).click();
    await page.waitForTimeout(300);
    expect(await app.list("?channel=offline")).toHaveLength(1);
    await context.setOffline(false);
    await onlyEvent("?channel=offline&name=Plan%20chosen");
    expect(site.takeComplaints()).toEqual([]);
  });

  test("a response that is lost makes no second event", async () => {
    site.settings.attributes = 'data-channel="lost"';
    let requests = 0;
    await context.route(`${app.address}/t`, async (route) => {
      if (requests++ > 0) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await page.goto(site.at("/"));
    await until(() => requests >= 2);
    await onlyEvent("?channel=lost");
  });

  test("of events that are too large together, only what is too large by itself is lost", async () => {
    site.settings.attributes = 'data-channel="large"';
    await page.goto(site.at("/"));
    await onlyEvent("?channel=large");
    await page.evaluate(() => {
      const { tidings } = globalThis as unknown as {
        tidings: { track: (name: string, event: object) => void };
      };
      const track = (name: string, characters: number) =>
        tidings.track(name, { tags: { text: "x".repeat(characters), part: "y".repeat(900) } });
      for (let number = 0; number < 3; number++) track("Right", 900);
      track("Too large", 70_000);
      for (let number = 0; number < 3; number++) track("Right", 900);
    });
    await until(async () => (await app.list("?channel=large&name=Right")).length === 6);
    const complaints: string[] = [];
    await until(() => {
      complaints.push(...site.takeComplaints());
      return complaints.some((text) => text.includes("at most 65,536 bytes"));
    });
    expect(await app.list("?channel=large&name=Too%20large")).toEqual([]);
  });

  test("a rejected key is told in the console", async () => {
    await using wrong = scriptSite(app.address, "tdg_pk_wrong");
    await page.goto(wrong.at("/"));
    const complaints: string[] = [];
    await until(() => complaints.push(...wrong.takeComplaints()) > 0);
    expect(complaints).toEqual([expect.stringMatching(/^Console: Tidings: This is not a Tidings API key/)]);
  });

  test("what fails after consent was taken back is forgotten", async () => {
    site.settings.attributes = 'data-consent data-storage data-channel="withdrawn"';
    const { promise: isSent, resolve: sent } = Promise.withResolvers<void>();
    const { promise: isWithdrawn, resolve: withdrawn } = Promise.withResolvers<void>();
    let requests = 0;
    await context.route(`${app.address}/t`, async (route) => {
      requests++;
      sent();
      await isWithdrawn;
      await route.fulfill({ status: 503, headers: { "access-control-allow-origin": "*" } });
    });
    await page.goto(site.at("/"));
    const consent = (agrees: boolean) => page.evaluate(`tidings.consent(${agrees})`);
    await consent(true);
    await isSent;
    await consent(false);
    withdrawn();
    // It would be sent again after three seconds.
    await page.waitForTimeout(4_000);
    expect(requests).toBe(1);
    expect(await page.evaluate("localStorage.length")).toBe(0);
  });
});
