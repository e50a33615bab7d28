import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { TestBrowser } from "../e2e/browser/drivers/browser.ts";
import type { Event } from "../event/event.ts";
import { type ScriptSite, scriptSite } from "./script-site.ts";
import { type TestApp, testApp } from "./test-app.ts";
import { until } from "./until.ts";
import { websiteKey } from "./website-visits.ts";

const everything = "data-forms data-errors data-vitals";
/** Longer than the script waits to send, and before it tries again. */
const quietMs = 600;

/** What the script of web pages does on a page of another origin with a strict content security policy, in a browser. */
export function describeScript(name: string, open: () => Promise<TestBrowser>): void {
  describe(name, () => {
    let app: TestApp;
    let site: ScriptSite;
    let browser: TestBrowser;
    let channel: string;
    let tests = 0;

    beforeAll(async () => {
      app = await testApp();
      site = scriptSite(app.address, await websiteKey(app));
      browser = await open();
      await browser.resize(1_000, 700);
    }, 120_000);
    afterAll(async () => {
      await browser?.close();
      await site?.[Symbol.asyncDispose]();
      await app?.[Symbol.asyncDispose]();
    });
    beforeEach(() => {
      channel = `test-${++tests}`;
    });
    afterEach(() => expect(site.takeComplaints()).toEqual([]));

    /** Loads a page whose script has these attributes. */
    async function openPage(path: string, attributes = "", rest: Partial<ScriptSite["settings"]> = {}) {
      Object.assign(site.settings, { before: "", headers: null, ...rest });
      site.settings.attributes = `data-channel="${channel}" ${attributes}`;
      await browser.open(site.at(path));
    }

    async function click(selector: string): Promise<void> {
      const { x, y } = await browser.evaluate<{ x: number; y: number }>(`(() => {
        const element = document.querySelector(${JSON.stringify(selector)});
        element.scrollIntoView({ block: "center", behavior: "instant" });
        const { x, y, width, height } = element.getBoundingClientRect();
        return { x: x + width / 2, y: y + height / 2 };
      })()`);
      await browser.click(x, y);
    }

    /** Waits for so many events of a name, and returns them, the oldest first. */
    async function eventsNamed(name: string, count: number): Promise<Event[]> {
      const list = () => app.list(`?order=asc&channel=${channel}&name=${encodeURIComponent(name)}`);
      await until(async () => (await list()).length >= count);
      // One that comes twice would come soon.
      await Bun.sleep(300);
      const events = await list();
      expect(events.map(({ name, tags }) => ({ name, path: tags.path }))).toHaveLength(count);
      return events;
    }
    const eventNamed = async (name: string) => (await eventsNamed(name, 1))[0]!;
    const pathsOf = (events: Event[]) => events.map(({ tags }) => tags.path);
    const expectSilence = async () => {
      await Bun.sleep(quietMs);
      expect(await app.list(`?channel=${channel}`)).toEqual([]);
    };

    test("a page with every feature sends each event once, and leaves no trace", async () => {
      const openedMs = performance.now();
      site.settings.attributes = `data-channel="${channel}" ${everything}`;
      await browser.open(site.elsewhere("/from"));
      // A proxy of the test can make it the same site.
      const from = await browser.evaluate<string>("location.hostname");
      await click("#in");
      const entry = await eventNamed("Page view");
      expect(entry.tags).toMatchObject({ path: "/", entry: "true", source: "news" });
      expect(entry.tags.referrer).toBe(site.at("/").includes(from) ? undefined : from);
      const language = await browser.evaluate<string>("navigator.language");
      expect(entry.tags.language).toBe(/^[a-z]{2,3}\b/.exec(language)?.[0]);
      await browser.evaluate(`
        history.pushState(null, "", "/app/one"),
        history.pushState(null, "", "/app/one?filter=open"),
        history.replaceState(null, "", "/app/one?filter=closed"),
        history.go(-2)
      `);
      expect(pathsOf(await eventsNamed("Page view", 3))).toEqual(["/", "/app/one", "/"]);

      await click("#plan");
      expect((await eventNamed("Plan chosen")).tags).toMatchObject({
        plan: "pro",
        "price-eur": "9",
        path: "/",
      });
      await click("#file");
      const { origin, types } = await browser.evaluate<{ origin: string; types: string[] }>(
        "({ origin: location.origin, types: [...PerformanceObserver.supportedEntryTypes] })",
      );
      expect((await eventNamed("File downloaded")).tags.file).toBe(`${origin}/price-list.pdf`);
      await click("#throw");
      await click("#reject");
      const errors = await eventsNamed("Error", 2);
      expect(errors.map(({ tags }) => tags.message)).toEqual([
        expect.stringContaining("Thrown"),
        "TypeError: Rejected",
      ]);
      expect(site.takeComplaints()).toEqual([
        expect.stringContaining("Thrown"),
        "Unhandled rejection: TypeError: Rejected",
      ]);
      await browser.evaluate(`
        tidings.identify("user-1"),
        tidings.track("Order placed", { tags: { total: 49.5, isFirst: true, none: null } }),
        tidings.identify()
      `);
      const order = await eventNamed("Order placed");
      expect(order).toMatchObject({ userId: "user-1", tags: { total: "49.5", isFirst: "true" } });
      expect(order.tags).not.toHaveProperty("none");

      await browser.evaluate("scrollTo(0, 600)");
      await Bun.sleep(1_200);
      // Leaves the page.
      await click("#out");
      expect((await eventNamed("Outgoing link")).tags.link).toBe(site.elsewhere("/elsewhere"));
      const { tags: vitals } = await eventNamed("Web vitals");
      expect(vitals).toMatchObject({ path: "/" });
      if (types.includes("largest-contentful-paint")) expect(Number(vitals.lcp)).toBeGreaterThan(0);
      expect(vitals.cls).toBe(types.includes("layout-shift") ? "0" : undefined);

      await browser.back();
      expect(pathsOf(await eventsNamed("Page view", 4)).at(-1)).toBe("/");
      await Bun.sleep(1_200);
      const before = (await app.list(`?channel=${channel}&name=Engagement`)).length;
      await browser.closeTab();
      const read = await eventsNamed("Engagement", before + 1);
      // The page was read in parts, with other views in between, and less than a second isn't told.
      const seconds = read.reduce((sum, { tags }) => sum + Number(tags.seconds), 0);
      expect(seconds).toBeGreaterThanOrEqual(2);
      expect(seconds).toBeLessThanOrEqual((performance.now() - openedMs) / 1_000);
      expect(Math.max(...read.map(({ tags }) => Number(tags.scroll)))).toBeGreaterThan(20);

      const events = await app.list(`?channel=${channel}`);
      expect(JSON.stringify(events)).not.toContain("secret");
      expect(new Set(events.map(({ tags }) => tags.session)).size).toBe(1);
      await openPage("/", "data-views=off");
      expect(
        await browser.evaluate<unknown[]>("[localStorage.length, sessionStorage.length, document.cookie]"),
      ).toEqual([0, 0, ""]);
    });

    test("forms, a page that doesn't exist, and the way back", async () => {
      await openPage("/", everything);
      const status = await browser.evaluate<boolean>(
        "'responseStatus' in PerformanceResourceTiming.prototype",
      );
      await click("#send");
      expect((await eventNamed("Form sent")).tags.form).toBe("contact");
      await eventsNamed("Page view", 2);
      await click("#sign-up");
      expect((await eventNamed("Signed up")).tags.from).toBe("footer");
      await openPage("/second", everything);
      await browser.back();
      await eventsNamed("Page view", 5);
      await openPage("/missing", status ? everything : `${everything} data-not-found`);
      expect((await eventNamed("Page not found")).tags.path).toBe("/missing");
      const views = await eventsNamed("Page view", 6);
      expect(pathsOf(views)).toEqual(["/", "/sent", "/sent", "/second", "/sent", "/missing"]);
    });

    test("while the server can't be reached, events wait, and are sent once", async () => {
      await openPage("/", 'data-endpoint="/t"');
      await eventNamed("Page view");
      await site.goDown();
      await click("#plan");
      await Bun.sleep(quietMs);
      site.comeBack();
      await eventNamed("Plan chosen");
    });

    test("without keepalive, events are beacons, also when the page is left", async () => {
      await openPage("/", "", {
        before: `delete Request.prototype.keepalive;
          globalThis.fetch = () => Promise.reject(new Error("Fetched"));`,
      });
      await eventNamed("Page view");
      await Bun.sleep(1_100);
      await click("#out");
      await eventNamed("Outgoing link");
      await eventNamed("Engagement");
    });

    // Browsers refuse what is beyond the 64 kB that all such requests may have together.
    for (const [what, before] of [
      [
        "request",
        "fetch = (fetch => () => { globalThis.fetch = fetch; return Promise.reject(new TypeError()); })(fetch);",
      ],
      [
        "beacon",
        "delete Request.prototype.keepalive; navigator.sendBeacon = () => !(delete navigator.sendBeacon);",
      ],
    ])
      test(`a ${what} that the browser refuses is sent later, once`, async () => {
        await openPage("/", "", { before: before! });
        await eventNamed("Page view");
      });

    test("without storage, data-storage does no harm", async () => {
      await openPage("/", "data-storage", {
        headers: { "content-security-policy": "sandbox allow-scripts" },
      });
      expect((await eventNamed("Page view")).userId).toMatch(/^visitor-[0-9a-f]{20}$/);
      await openPage("/", "data-storage");
      await openPage("/second", "data-storage");
      const [, first, second] = await eventsNamed("Page view", 3);
      expect(first!.userId).toMatch(/^visitor-[0-9a-f]{8}-[0-9a-f]{4}-7/);
      expect(second!.userId).toBe(first!.userId);
      await browser.evaluate("localStorage.clear()");
    });

    for (const [signal, value] of [
      ["globalPrivacyControl", "true"],
      ["doNotTrack", '"1"'],
    ])
      test(`nothing is sent with ${signal}`, async () => {
        await openPage("/", "data-storage", {
          before: `Object.defineProperty(Navigator.prototype, "${signal}", { get: () => ${value} });`,
        });
        await click("#plan");
        await browser.evaluate('tidings.track("Order placed"), tidings.consent(true)');
        await expectSilence();
        expect(await browser.evaluate<number>("localStorage.length")).toBe(0);
      });

    test("data-consent waits for consent, which can be taken back", async () => {
      await openPage("/", "data-consent data-storage");
      await click("#plan");
      await expectSilence();
      expect(await browser.evaluate<number>("localStorage.length")).toBe(0);
      await browser.evaluate("tidings.consent(true)");
      await eventNamed("Page view");
      expect(await browser.evaluate<number>("localStorage.length")).toBe(1);
      await browser.evaluate("tidings.consent(false)");
      await click("#plan");
      await Bun.sleep(quietMs);
      expect(await app.list(`?channel=${channel}`)).toHaveLength(1);
      expect(await browser.evaluate<number>("localStorage.length")).toBe(0);
    });
  });
}
