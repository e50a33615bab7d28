// @long
import { expect, test } from "bun:test";
import { join } from "node:path";
import { launchChromium } from "../../server/e2e/browser/chromium.ts";
import { testApp } from "../../server/testing/test-app.ts";
import { until } from "../../server/testing/until.ts";

test("events that were captured offline are sent by a later page, and those of an open page are left to it", async () => {
  await using app = await testApp();
  const built = await Bun.build({
    entrypoints: ["index.ts", "offline.ts"].map((name) => join(import.meta.dir, name)),
    target: "browser",
  });
  const [client, offline] = await Promise.all(built.outputs.map((output) => output.text()));
  const html = `<!doctype html><script type="module">
import { createClient } from "/client.js";
import { offlineStorage } from "/offline.js";
window.open_ = (baseUrl) => {
  window.tidings = createClient({
    baseUrl, apiKey: ${JSON.stringify(app.key)}, retries: 0, batching: { maxWaitMs: 10 }, storage: offlineStorage(),
  });
};
window.countSaved = () => new Promise((resolve) => {
  const request = indexedDB.open("tidings", 1);
  request.onsuccess = () => {
    const counting = request.result.transaction("events").objectStore("events").count();
    counting.onsuccess = () => { request.result.close(); resolve(counting.result); };
  };
});
window.isReady = true;
</script>`;
  const scripts: Record<string, string | undefined> = { "/client.js": client, "/offline.js": offline };
  using site = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const script = scripts[new URL(request.url).pathname];
      const type = script === undefined ? "text/html" : "text/javascript";
      return new Response(script ?? html, { headers: { "content-type": type } });
    },
  });
  const browser = await launchChromium();
  try {
    const context = await browser.newContext();
    const openPage = async (baseUrl: string) => {
      const page = await context.newPage();
      await page.goto(site.url.href);
      await page.waitForFunction("window.isReady");
      await page.evaluate(`open_(${JSON.stringify(baseUrl)})`);
      return page;
    };
    const capture = (count: number, name: string) =>
      `(() => { for (let number = 0; number < ${count}; number++) tidings.capture({ channel: "offline", name: "${name}" }); })()`;
    const storedNames = async () => (await app.list("?channel=offline")).map(({ name }) => name).sort();

    const disconnected = await openPage("http://127.0.0.1:1");
    await disconnected.evaluate(capture(3, "offline"));
    await disconnected.waitForFunction("countSaved().then((count) => count === 3)");

    const connected = await openPage(app.address);
    await connected.evaluate(capture(2, "online"));
    // Its own events are gone from the database once they are stored.
    await connected.waitForFunction("tidings.flush().then(countSaved).then((count) => count === 3)");
    expect(await storedNames()).toEqual(["online", "online"]);
    await disconnected.close();
    await connected.close();

    const later = await openPage(app.address);
    await until(async () => (await storedNames()).length === 5);
    expect(await storedNames()).toEqual(["offline", "offline", "offline", "online", "online"]);
    await later.waitForFunction("countSaved().then((count) => count === 0)");
  } finally {
    await browser.close();
  }
});
