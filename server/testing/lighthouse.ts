/**
 * Measures four pages of the dashboard with Lighthouse, on mobile and desktop, three times each, and prints the medians
 * as a table.
 *
 * Uses simulated throttling (Lighthouse's default): what the page loads and computes is recalculated for a slow phone
 * on slow 4G. A busy machine still increases the blocking time, so the load average is printed below the table.
 *
 * @example
 * npm run lighthouse                          # on a new, seeded database
 * npm run lighthouse -- http://127.0.0.1:4242 # on a running server, filled with `npm run seed`
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { launchChromium } from "./chromium.ts";
import { runTidings, startServer } from "./server-process.ts";

const runs = 3;
const demo = { email: "demo@example.com", password: "tidings-demo" };

type Result = {
  categories: { performance: { score: number } };
  audits: Record<string, { numericValue: number }>;
};
// Untyped, because only `npm run lighthouse` installs it, as it is large.
const lighthouse =
  await load<(url: string, flags: object, config?: object) => Promise<{ lhr: Result } | undefined>>(
    "lighthouse",
  );
const desktop = await load<object>("lighthouse/core/config/desktop-config.js");

const directory = mkdtempSync(join(tmpdir(), "tidings-lighthouse-"));
const [givenAddress] = process.argv.slice(2);
const server = givenAddress ? null : await startSeeded(directory);
const address = givenAddress ?? server!.address;
const port = await freePort();
const browser = await launchChromium([`--remote-debugging-port=${port}`]);
try {
  const cookies = await signIn(address);
  const event = await firstEvent(address, cookies);
  const chromium = await browser.newBrowserCDPSession();
  const setCookies = () =>
    chromium.send("Storage.setCookies", {
      cookies: cookies.map((cookie) => ({ ...cookie, url: address })),
    });
  const pages = [
    ["sign-in", "/sign-in", () => chromium.send("Storage.clearCookies")],
    ["feed", "/p/default", setCookies],
    ["event", `/p/default/events/${event}`, setCookies],
    ["settings", "/p/default/settings", setCookies],
  ] as const;
  console.log(
    "| page     | device  | performance | first contentful paint | largest contentful paint | total blocking time | layout shift |",
  );
  console.log(
    "|----------|---------|-------------|------------------------|--------------------------|---------------------|--------------|",
  );
  for (const [page, path, prepare] of pages) {
    for (const [device, config] of [
      ["mobile", undefined],
      ["desktop", desktop],
    ] as const) {
      const results: Result[] = [];
      for (let run = 0; run < runs; run++) {
        await prepare();
        const flags = { port, onlyCategories: ["performance"], logLevel: "error" };
        results.push((await lighthouse(address + path, flags, config))!.lhr);
      }
      const audit = (name: string) => median(results.map(({ audits }) => audits[name]!.numericValue));
      const score = median(results.map(({ categories }) => categories.performance.score * 100));
      console.log(
        `| ${page.padEnd(8)} | ${device.padEnd(7)} | ${score.toFixed()} | ${seconds(audit("first-contentful-paint"))} | ${seconds(audit("largest-contentful-paint"))} | ${audit("total-blocking-time").toFixed()} ms | ${audit("cumulative-layout-shift").toFixed(3)} |`,
      );
    }
  }
  console.log(
    `\nMedians of ${runs} runs; load of the machine ${loadavg()
      .map((each) => each.toFixed(1))
      .join(", ")}.`,
  );
} finally {
  await browser.close();
  await server?.end("SIGTERM");
  rmSync(directory, { recursive: true, force: true });
}

async function load<Export>(name: string): Promise<Export> {
  return (await import(name)).default;
}

async function startSeeded(dataDirectory: string) {
  const environment = { TIDINGS_DATA: dataDirectory };
  await runTidings(["seed"], environment);
  return startServer(environment);
}

async function signIn(address: string): Promise<{ name: string; value: string }[]> {
  const response = await fetch(`${address}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: address },
    body: JSON.stringify(demo),
  });
  if (!response.ok) throw new Error(`Signing in answered ${response.status}: ${await response.text()}`);
  return response.headers.getSetCookie().map((cookie) => {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
    return { name: name!, value: value! };
  });
}

async function firstEvent(address: string, cookies: { name: string; value: string }[]): Promise<string> {
  const response = await fetch(`${address}/api/events?project=default&limit=1`, {
    headers: { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; ") },
  });
  const { events } = (await response.json()) as { events: { id: string }[] };
  return events[0]!.id;
}

async function freePort(): Promise<number> {
  const probe = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = probe;
  await probe.stop(true);
  return port!;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
