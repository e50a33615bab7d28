/** The script of web pages in Chromium, on a page of another origin with a strict content security policy. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launchChromium } from "../e2e/browser/chromium.ts";
import type { Event } from "../event/event.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { desktop, websiteKey } from "../testing/website-visits.ts";

let app: TestApp;
let browser: Browser;
let site: Bun.Server<undefined>;
let key: string;
let context: BrowserContext;
let page: Page;
let faults: string[];
/** Attributes of the script, and headers of the page. */
let attributes: string;
let headers: Record<string, string>;
let pageKey: string;

const everything = 'data-forms data-errors data-vitals data-channel="shop"';

beforeAll(async () => {
  app = await testApp();
  key = await websiteKey(app);
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ url }) {
      const { pathname } = new URL(url);
      if (pathname === "/icon") return new Response(null, { status: 204 });
      if (pathname === "/price-list.pdf") return new Response("%PDF");
      return new Response(html(), {
        status: pathname === "/missing" ? 404 : 200,
        headers: {
          "content-type": "text/html; charset=utf-8",
          "content-security-policy": `default-src 'none'; script-src ${app.address}; connect-src ${app.address}; form-action 'self'; img-src 'self'`,
          ...headers,
        },
      });
    },
  });
  browser = await launchChromium([`--user-agent=${desktop}`]);
  // With its last page, Chromium would close.
  await browser.newPage();
});
afterAll(async () => {
  await browser.close();
  await site.stop(true);
  await app[Symbol.asyncDispose]();
});
beforeEach(async () => {
  attributes = "";
  headers = {};
  pageKey = key;
  await context?.close();
  context = await browser.newContext({ locale: "de-DE", timezoneId: "Europe/Berlin" });
  await context.route("https://elsewhere.example.com/**", (route) => route.fulfill({ body: "Elsewhere" }));
  ({ page, faults } = await openTab());
});

function html(): string {
  return `<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="/icon">
<script defer src="${app.address}/t.js" data-key="${pageKey}" ${attributes}></script>
<a href="https://elsewhere.example.com/page?token=secret" target="_blank">Elsewhere</a>
<a href="/price-list.pdf" download>Price list</a>
<a href="/second">Second</a>
<button data-tidings-event="Plan chosen" data-tidings-plan="pro" data-tidings-price-eur="9"><b>Pro</b></button>
<form id="contact" action="/sent" method="get"><input name="id" value="secret"><button>Send</button></form>
<form data-tidings-event="Signed up" data-tidings-from="footer" action="/sent"><button>Sign up</button></form>
<pre>${"A long page\n".repeat(200)}</pre>`;
}

async function openTab(): Promise<{ page: Page; faults: string[] }> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => faults.push(message.text()));
  page.on("pageerror", ({ message }) => faults.push(message));
  return { page, faults };
}

const at = (path: string) => new URL(path, site.url).href;

/** Waits for so many events of a name since a test began, and returns them, the oldest first. */
async function eventsNamed(name: string, count: number, query = ""): Promise<Event[]> {
  const list = () => app.list(`?order=asc&name=${encodeURIComponent(name)}${query}`);
  await until(async () => (await list()).length >= count);
  // One that comes twice would come soon.
  await Bun.sleep(300);
  const events = await list();
  expect(events.map(({ name, tags }) => ({ name, path: tags.path }))).toHaveLength(count);
  return events;
}

test("a page with every feature sends each event once, and leaves no trace", async () => {
  attributes = everything;
  const shop = "&channel=shop";
  const openedMs = performance.now();
  await page.goto(at("/?utm_source=news&token=secret"), { referer: "https://www.google.com/" });
  await eventsNamed("Page view", 1, shop);
  await page.evaluate(`
    history.pushState(null, "", "/app/one");
    history.pushState(null, "", "/app/one?filter=open");
    history.replaceState(null, "", "/app/one?filter=closed");
  `);
  await page.evaluate("history.go(-2)");
  const views = await eventsNamed("Page view", 3, shop);
  expect(views.map(({ tags }) => tags.path)).toEqual(["/", "/app/one", "/"]);
  expect(views.map(({ tags }) => tags.entry)).toEqual(["true", undefined, undefined]);
  expect(views[0]!.tags).toMatchObject({ source: "news", utm_source: "news", country: "DE", language: "de" });
  expect(JSON.stringify(views)).not.toContain("secret");

  await page.getByText("Pro", { exact: true }).click();
  const [marked] = await eventsNamed("Plan chosen", 1, shop);
  expect(marked!.tags).toMatchObject({ plan: "pro", "price-eur": "9", path: "/" });
  await page.getByText("Price list").click();
  expect((await eventsNamed("File downloaded", 1, shop))[0]!.tags.file).toBe(at("/price-list.pdf"));
  const opened = context.waitForEvent("page");
  await page.getByText("Elsewhere").click();
  await (await opened).close();
  expect((await eventsNamed("Outgoing link", 1, shop))[0]!.tags.link).toBe(
    "https://elsewhere.example.com/page",
  );

  await page.evaluate(() => setTimeout(() => Promise.reject(new TypeError("Broken"))));
  expect((await eventsNamed("Error", 1, shop))[0]!.tags.message).toBe("TypeError: Broken");
  expect(faults.splice(0)).toEqual(["Broken"]);

  await page.evaluate(() => {
    const { tidings } = globalThis as unknown as { tidings: Record<string, (...values: unknown[]) => void> };
    tidings.identify!("user-1");
    tidings.track!("Order placed", { tags: { total: 49.5, isFirst: true, none: null } });
  });
  const [order] = await eventsNamed("Order placed", 1, shop);
  expect(order).toMatchObject({ userId: "user-1", tags: { total: "49.5", isFirst: "true" } });
  expect(order!.tags).not.toHaveProperty("none");
  expect(await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")).toEqual([
    0,
    0,
    "",
  ]);

  await page.mouse.wheel(0, 600);
  await page.waitForTimeout(1_200);
  await page.close({ runBeforeUnload: true });
  const [vitals] = await eventsNamed("Web vitals", 1, shop);
  expect(Number(vitals!.tags.lcp)).toBeGreaterThan(0);
  expect(vitals!.tags).toMatchObject({ cls: "0", path: "/" });
  expect(vitals!.tags).toHaveProperty("inp");
  // The page was read in parts, with other views in between, and what is less than a second isn't told.
  const engagements = await app.list("?name=Engagement&channel=shop");
  const seconds = engagements.reduce((sum, { tags }) => sum + Number(tags.seconds), 0);
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual((performance.now() - openedMs) / 1_000);
  expect(Number(engagements[0]!.tags.scroll)).toBeGreaterThan(20);
  expect(faults).toEqual([]);
});

test("forms, a page that doesn't exist, and the way back", async () => {
  attributes = `${everything.replace("shop", "forms")}`;
  const forms = "&channel=forms";
  await page.goto(at("/"));
  await page.getByText("Send").click();
  expect((await eventsNamed("Form sent", 1, forms))[0]!.tags.form).toBe("contact");
  await page.getByText("Sign up").click();
  expect((await eventsNamed("Signed up", 1, forms))[0]!.tags.from).toBe("footer");
  await page.goto(at("/second"));
  await page.goBack();
  await page.goto(at("/missing"));
  const [missing] = await eventsNamed("Page not found", 1, forms);
  expect(missing!.tags.path).toBe("/missing");
  const views = await eventsNamed("Page view", 6, forms);
  expect(views.map(({ tags }) => tags.path)).toEqual(["/", "/sent", "/sent", "/second", "/sent", "/missing"]);
  expect(new Set(views.map(({ tags }) => tags.session)).size).toBe(1);
  // Chromium tells of the missing page by itself.
  expect(faults.filter((text) => !text.includes("404"))).toEqual([]);
});

describe("trouble", () => {
  test("offline, events wait, and are sent once", async () => {
    attributes = 'data-channel="offline"';
    await page.goto(at("/"));
    await eventsNamed("Page view", 1, "&channel=offline");
    await context.setOffline(true);
    await page.getByText("Pro", { exact: true }).click();
    await page.waitForTimeout(300);
    expect(await app.list("?channel=offline")).toHaveLength(1);
    await context.setOffline(false);
    await eventsNamed("Plan chosen", 1, "&channel=offline");
    expect(faults).toEqual([]);
  });

  test("a response that is lost makes no second event", async () => {
    attributes = 'data-channel="lost"';
    let requests = 0;
    await context.route(`${app.address}/t`, async (route) => {
      if (requests++ > 0) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await page.goto(at("/"));
    await until(() => requests >= 2);
    await eventsNamed("Page view", 1, "&channel=lost");
  });

  test("without storage, data-storage does no harm", async () => {
    attributes = 'data-storage data-channel="stored"';
    headers = { "content-security-policy": "sandbox allow-scripts" };
    await page.goto(at("/"));
    const [view] = await eventsNamed("Page view", 1, "&channel=stored");
    expect(view!.userId).toMatch(/^visitor-[0-9a-f]{20}$/);
    expect(faults).toEqual([]);
    headers = {};
    await page.goto(at("/"));
    await page.goto(at("/second"));
    const views = await eventsNamed("Page view", 3, "&channel=stored");
    expect(views[1]!.userId).toMatch(/^visitor-[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(views[2]!.userId).toBe(views[1]!.userId);
  });

  test("a rejected key is told in the console", async () => {
    attributes = 'data-channel="wrong"';
    pageKey = "tdg_pk_wrong";
    await page.goto(at("/"));
    await until(() => faults.some((text) => text.startsWith("Tidings: This is not a Tidings API key")));
  });
});

describe("privacy", () => {
  for (const signal of ["globalPrivacyControl", "doNotTrack"]) {
    test(`nothing is sent with ${signal}`, async () => {
      attributes = 'data-channel="refused"';
      await page.addInitScript((name) => {
        const value = name === "doNotTrack" ? "1" : true;
        Object.defineProperty(Navigator.prototype, name, { get: () => value });
      }, signal);
      await page.goto(at("/"));
      await page.getByText("Pro", { exact: true }).click();
      await page.evaluate(() => {
        const { tidings } = globalThis as unknown as {
          tidings: Record<string, (...values: unknown[]) => void>;
        };
        tidings.track!("Order placed");
        tidings.consent!(true);
      });
      await page.waitForTimeout(500);
      expect(await app.list("?channel=refused")).toEqual([]);
    });
  }

  test("data-consent waits for consent, which can be taken back", async () => {
    attributes = 'data-consent data-storage data-channel="consent"';
    await page.goto(at("/"));
    await page.getByText("Pro", { exact: true }).click();
    await page.waitForTimeout(500);
    expect(await app.list("?channel=consent")).toEqual([]);
    expect(await page.evaluate("localStorage.length")).toBe(0);
    const consent = (agrees: boolean) =>
      page.evaluate((agrees) => {
        const { tidings } = globalThis as unknown as { tidings: { consent: (agrees: boolean) => void } };
        tidings.consent(agrees);
      }, agrees);
    await consent(true);
    await eventsNamed("Page view", 1, "&channel=consent");
    expect(await page.evaluate("localStorage.length")).toBe(1);
    await consent(false);
    await page.getByText("Pro", { exact: true }).click();
    await page.waitForTimeout(500);
    expect(await app.list("?channel=consent")).toHaveLength(1);
    expect(await page.evaluate("localStorage.length")).toBe(0);
  });
});
