// @long
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { launchChromium } from "../../server/e2e/browser/chromium.ts";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import { until } from "../../server/testing/until.ts";
import { type HostileProxy, hostileProxy, type Mishap } from "./testing/hostile-proxy.ts";
import { type InstalledPackage, installPackage } from "./testing/installed-package.ts";
import { installRuntimes } from "./testing/runtimes.ts";

// Captured events against a real server behind a proxy that fails in every way: each event is stored exactly once, or
// reported to `onDrop`.

let app: TestApp;
let proxy: HostileProxy;
let customer: InstalledPackage;
const { commands } = await installRuntimes();

beforeAll(async () => {
  app = await testApp();
  customer = await installPackage();
}, 600_000);
beforeEach(async () => {
  proxy = await hostileProxy(app.address);
});
afterEach(() => proxy[Symbol.asyncDispose]());
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await customer[Symbol.asyncDispose]();
});

const everyMishap: Mishap[] = [
  "drop-request",
  "500",
  "429",
  "413",
  "drop-response",
  "half-response",
  "500-after",
  "hang",
  "slow",
];

/** The names of the channel's events, sorted. */
async function storedNames(channel: string): Promise<string[]> {
  return (await app.list(`?channel=${channel}`)).map(({ name }) => name).sort();
}

function namesUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, number) => `n ${number}`).sort();
}

for (const [runtime, command] of commands) {
  const runProgram = async (program: string) => {
    const file = await customer.write(
      `${runtime}.mjs`,
      `import { createClient } from "@tidings/client";\n${program}`,
    );
    return customer.run([...command, file]);
  };

  test(`under ${runtime}, every captured event is stored once or reported`, async () => {
    proxy.mishaps.push(...everyMishap.flatMap((mishap) => [null, mishap]));
    const channel = `hostile-${runtime}`;
    const output = await runProgram(
      `const dropped = [];
const tidings = createClient({
  baseUrl: ${JSON.stringify(proxy.url)}, apiKey: ${JSON.stringify(app.key)}, timeoutMs: 1_000, retries: 10,
  batching: { maxWaitMs: 10 },
  onDrop: (events, reason) => dropped.push(...events.map(({ name }) => [name, reason])),
});
for (let number = 0; number < 400; number++) {
  tidings.capture({ channel: ${JSON.stringify(channel)}, name: "n " + number, tags: { number } });
  if (number % 20 === 10) await tidings.flush();
}
tidings.capture({ channel: "", name: "no channel" });
tidings.capture({ channel: "c", name: "no tag", tags: { nested: {} } });
await tidings.shutdown({ timeoutMs: 60_000 });
tidings.capture({ channel: "c", name: "too late" });
console.log(JSON.stringify(dropped));`,
    );
    expect(proxy.mishaps).toEqual([]);
    expect(JSON.parse(output)).toEqual([
      ["no tag", "invalid"],
      ["no channel", "rejected"],
      ["too late", "closed"],
    ]);
    expect(await storedNames(channel)).toEqual(namesUpTo(400));
  });

  test(`under ${runtime}, a program that ends sends what it captured, and the queue doesn't keep it alive`, async () => {
    proxy.mishaps.push("drop-response");
    const channel = `ending-${runtime}`;
    await runProgram(
      `const tidings = createClient({
  baseUrl: ${JSON.stringify(proxy.url)}, apiKey: ${JSON.stringify(app.key)}, batching: { maxWaitMs: 3_600_000 },
});
for (let number = 0; number < 5; number++) tidings.capture({ channel: ${JSON.stringify(channel)}, name: "n " + number });`,
    );
    expect(await storedNames(channel)).toEqual(namesUpTo(5));
  });

  test(`under ${runtime}, a program that ends without a server reports what it could not send`, async () => {
    const output = await runProgram(
      `const tidings = createClient({
  baseUrl: "http://127.0.0.1:1", apiKey: "k", retries: 1,
  onDrop: (events, reason, error) => console.log(events.length, events[0].id.length, reason, error.name),
});
for (let number = 0; number < 5; number++) tidings.capture({ channel: "c", name: "n" });`,
    );
    expect(output).toBe("5 36 undeliverable TidingsNetworkError\n");
  });
}

test("in a browser, every captured event is stored once, also when the page is left", async () => {
  const html = `<!doctype html><script type="module">
import { createClient } from "/tidings/index.js";
window.dropped = [];
window.tidings = createClient({
  baseUrl: ${JSON.stringify(proxy.url)}, apiKey: ${JSON.stringify(app.key)}, timeoutMs: 2_000, retries: 10,
  batching: { maxWaitMs: 10 }, onDrop: (events, reason) => dropped.push([events.length, reason]),
});
window.slow = createClient({
  baseUrl: ${JSON.stringify(proxy.url)}, apiKey: ${JSON.stringify(app.key)}, batching: { maxEvents: 100, maxWaitMs: 3_600_000 },
});
window.isReady = true;
</script>`;
  // Without a bundler, as a page would use the package's files.
  const files = join(customer.directory, "node_modules/@tidings/client/dist");
  using site = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ url }) {
      const [, name] = new URL(url).pathname.split("/tidings/");
      return name
        ? new Response(Bun.file(join(files, name)), { headers: { "content-type": "text/javascript" } })
        : new Response(html, { headers: { "content-type": "text/html" } });
    },
  });
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(site.url.href);
    await page.waitForFunction("window.isReady");
    proxy.mishaps.push(...everyMishap.flatMap((mishap) => [null, mishap]));
    const dropped = await page.evaluate(`(async () => {
  for (let number = 0; number < 400; number++) {
    tidings.capture({ channel: "browser", name: "n " + number });
    if (number % 20 === 10) await tidings.flush();
  }
  await tidings.shutdown({ timeoutMs: 60_000 });
  return dropped;
})()`);
    expect(dropped).toEqual([]);
    expect(proxy.mishaps).toEqual([]);
    expect(await storedNames("browser")).toEqual(namesUpTo(400));

    await page.evaluate(`(() => {
  slow.capture({ channel: "hiding", name: "n 0" });
  Object.defineProperty(document, "visibilityState", { value: "hidden" });
  document.dispatchEvent(new Event("visibilitychange"));
})()`);
    await until(async () => (await storedNames("hiding")).length === 1);

    await page.evaluate(`(() => {
  for (let number = 0; number < 50; number++) slow.capture({ channel: "leaving", name: "n " + number });
})()`);
    await page.goto("about:blank");
    await until(async () => (await storedNames("leaving")).length === 50);
    expect(await storedNames("leaving")).toEqual(namesUpTo(50));
  } finally {
    await browser.close();
  }
});
