/** What a first visit to the feed transfers, counted between a real browser and the server. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { countingProxy } from "../testing/counting-proxy.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";
import { bytesMax, requestsMax } from "./browser/first-load-budget.ts";

/** A remote machine, as far as the browser knows. */
const elsewhere = "tidings.test";
let dashboard: TestDashboard;
let proxy: Awaited<ReturnType<typeof countingProxy>>;

beforeAll(async () => {
  dashboard = await openDashboard({ flags: [`--host-resolver-rules=MAP ${elsewhere} 127.0.0.1`] });
  proxy = await countingProxy(dashboard.address);
  const events = Array.from({ length: 200 }, (_, index) => ({
    channel: "payments",
    // Equal names in a row would be one row of the feed.
    name: index % 2 ? "Payment received" : "Payment failed",
    userId: `cus_${(index * 7_919) % 5_000}`,
    icon: "💰",
    tags: { amount: `${(index * 13) % 997}.50`, currency: "EUR", plan: "pro" },
  }));
  await dashboard.post(events);
});

afterAll(async () => {
  proxy?.close();
  await dashboard?.[Symbol.asyncDispose]();
});

// Browsers accept brotli over HTTPS, and from their own machine.
for (const [encoding, host] of [
  ["br", "127.0.0.1"],
  ["gzip", elsewhere],
] as const) {
  const kilobytes = bytesMax[encoding] / 1_000;
  test(`a first visit takes at most ${requestsMax} requests and ${kilobytes} kB with ${encoding}`, async () => {
    const url = `http://${host}:${proxy.port}`;
    const context = await dashboard.browser.newContext({ viewport: { width: 1440, height: 900 } });
    await context.addCookies(dashboard.cookies.map((cookie) => ({ ...cookie, url })));
    const page = await context.newPage();
    // The histogram's files are held back: it is loaded once the feed is drawn.
    const counted = Promise.withResolvers<void>();
    await context.route(/\/assets\/(?:timeline|charts|icons|theme)-/, async (route) => {
      await counted.promise;
      await route.continue();
    });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    const html = page.waitForResponse(`${url}/p/default`);
    proxy.take();
    await page.goto(`${url}/p/default`);
    expect((await html).headers()["content-encoding"]).toBe(encoding);
    await page.getByRole("article").first().waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await page
      .getByRole("link", { name: /payments/ })
      .first()
      .waitFor();
    // Some headless browsers don't request these; others do.
    const first = proxy.take();
    const linked = await page.evaluate<string[]>(
      `[...document.querySelectorAll("link[rel=icon], link[rel=manifest]")].map(({ href }) => href)`,
    );
    const missing = linked.filter((href) => !first.requests.includes(`GET ${new URL(href).pathname}`));
    await page.evaluate(
      `Promise.all(${JSON.stringify(missing)}.map(async (href) => (await fetch(href)).text()))`,
    );
    const then = proxy.take();
    const requests = [...first.requests, ...then.requests];
    const bytes = first.bytes + then.bytes;
    for (const path of [
      "/p/default",
      "/manifest.webmanifest",
      "/api/me",
      "/api/sidebar",
      "/api/events/stream",
    ])
      expect(
        requests.some((request) => request.startsWith(`GET ${path}`)),
        path,
      ).toBe(true);
    expect(requests.length, requests.join("\n")).toBeLessThanOrEqual(requestsMax);
    expect(bytes).toBeLessThanOrEqual(bytesMax[encoding]);
    counted.resolve();
    await page.getByRole("slider", { name: /^Events over time/ }).waitFor();
    const firstOf = (path: RegExp) => asked.findIndex((each) => path.test(each));
    expect(firstOf(/\/assets\/timeline-/)).toBeGreaterThan(firstOf(/^\/api\/events$/));
    expect(firstOf(/^\/api\/stats$/)).toBeGreaterThan(firstOf(/^\/api\/events$/));
    await context.close();
  });
}
