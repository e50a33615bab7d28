/**
 * Measures pages with Lighthouse, on mobile and desktop: all of the dashboard that members see, and three of the
 * documentation. Prints the medians of three runs each as a table. Below it: the audits of accessibility, best practices
 * and, for the documentation, SEO that failed.
 *
 * Uses simulated throttling (Lighthouse's default): what the page loads and computes is recalculated for a slow phone
 * on slow 4G. A busy machine still increases the blocking time, so the load average is printed below the table.
 *
 * @example
 * npm run lighthouse                 # all pages
 * npm run lighthouse -- feed,board 1 # some, once
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { memberPages } from "../../testing/sample-pages.ts";
import { startShop } from "../../testing/sample-shop.ts";
import { launchChromium } from "./chromium.ts";

const runs = Number(process.argv[3] ?? 3);

type Category = { score: number; auditRefs: { id: string }[] };
type Result = {
  categories: Record<string, Category>;
  audits: Record<string, { numericValue?: number; score: number | null; title: string }>;
};
// Untyped, because only `npm run lighthouse` installs it, as it is large.
const lighthouse =
  await load<(url: string, flags: object, config?: object) => Promise<{ lhr: Result } | undefined>>(
    "lighthouse",
  );
const desktop = await load<object>("lighthouse/core/config/desktop-config.js");

const only = process.argv[2] ? process.argv[2].split(",") : null;
const directory = mkdtempSync(join(tmpdir(), "tidings-lighthouse-"));
const shop = await startShop(directory);
const port = await freePort();
const browser = await launchChromium([`--remote-debugging-port=${port}`]);
const failed = new Set<string>();
try {
  const chromium = await browser.newBrowserCDPSession();
  const signOut = () => chromium.send("Storage.clearCookies");
  const signIn = () =>
    chromium.send("Storage.setCookies", {
      cookies: shop.cookies.map((cookie) => ({ ...cookie, url: shop.address })),
    });
  const pages = [
    ...Object.entries({ "sign-in": "/sign-in", docs: "/docs", reference: "/docs/api/events" }).map(
      ([page, path]) => ({ page, path, prepare: signOut }),
    ),
    ...Object.entries(memberPages(shop)).map(([page, path]) => ({
      page,
      path,
      prepare: signIn,
    })),
  ].filter(({ page }) => !only || only.includes(page));
  console.log(
    "| page       | device  | performance | accessibility | best practices | SEO | largest contentful paint | total blocking time | layout shift |",
  );
  console.log(
    "|------------|---------|-------------|---------------|----------------|-----|--------------------------|---------------------|--------------|",
  );
  for (const { page, path, prepare } of pages) {
    for (const [device, config] of [
      ["mobile", undefined],
      ["desktop", desktop],
    ] as const) {
      const results: Result[] = [];
      for (let run = 0; run < runs; run++) {
        await prepare();
        const isPublic = prepare === signOut && page !== "sign-in";
        const onlyCategories = [
          "performance",
          "accessibility",
          "best-practices",
          // The dashboard is not to be found by search engines.
          ...(isPublic ? ["seo"] : []),
        ];
        const flags = { port, onlyCategories, logLevel: "error" };
        results.push((await lighthouse(shop.address + path, flags, config))!.lhr);
      }
      const audit = (name: string) =>
        median(results.map(({ audits }) => audits[name]!.numericValue ?? Number.NaN));
      const score = (name: string) =>
        results[0]!.categories[name]
          ? median(results.map(({ categories }) => categories[name]!.score * 100)).toFixed()
          : "–";
      for (const name of ["accessibility", "best-practices", "seo"]) {
        for (const { id } of results[0]!.categories[name]?.auditRefs ?? []) {
          const { score, title } = results[0]!.audits[id]!;
          if (score !== null && score < 1) failed.add(`${page}: ${title} (${id})`);
        }
      }
      console.log(
        `| ${page.padEnd(10)} | ${device.padEnd(7)} | ${score("performance")} | ${score("accessibility")} | ${score("best-practices")} | ${score("seo")} | ${seconds(audit("largest-contentful-paint"))} | ${audit("total-blocking-time").toFixed()} ms | ${audit("cumulative-layout-shift").toFixed(3)} |`,
      );
    }
  }
  for (const each of failed) console.log(`\n- ${each}`);
  console.log(
    `\nMedians of ${runs} runs; load of the machine ${loadavg()
      .map((each) => each.toFixed(1))
      .join(", ")}.`,
  );
} finally {
  await browser.close();
  await shop.stop();
  rmSync(directory, { recursive: true, force: true });
}

async function load<Export>(name: string): Promise<Export> {
  return (await import(name)).default;
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
