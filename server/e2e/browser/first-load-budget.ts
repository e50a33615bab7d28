/**
 * The budget of the dashboard's first load. `pages-first-load.test.ts` checks requests and bytes in a real browser. Run
 * as a program, as in `npm run check`, this file checks the sizes of the build's files.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Requests of a first visit to the feed: page, scripts, styles, font, icons, manifest, worker, API. */
export const requestsMax = 20;
/** Bytes that the server sends for them, including headers. */
export const bytesMax = { br: 180_000, gzip: 199_000 };

/** Bytes of each build file in the first load, gzipped if it is compressed; Brotli is smaller. */
const fileBytesMax: Record<string, number> = {
  "index.html": 700,
  "theme.js": 400,
  "mark.svg": 400,
  "manifest.webmanifest": 400,
  // With the search language: the feed matches live events itself.
  "assets/index.js": 48_000,
  // TanStack Virtual stays at 3.13: newer versions add 5 kB for measuring and scrolling that the feed doesn't use.
  "assets/vendor.js": 105_000,
  "assets/rolldown-runtime.js": 500,
  "assets/index.css": 11_500,
  "assets/hanken-grotesk-latin.woff2": 18_000,
  "assets/stream-worker.js": 1_800,
};

const root = join(import.meta.dir, "../../..");
const directory = join(root, "dashboard/dist");

if (import.meta.main) {
  const { exitCode } = Bun.spawnSync(["node", "scripts/build.mjs"], {
    cwd: root,
    stdout: "inherit",
    stderr: "inherit",
  });
  if (exitCode !== 0) process.exit(exitCode);
  const violations = await findViolations();
  for (const violation of violations) console.error(violation);
  process.exit(violations.length > 0 ? 1 : 0);
}

/** Returns a message for each file of the first load that exceeds its budget or has none. */
async function findViolations(): Promise<string[]> {
  const html = await Bun.file(join(directory, "index.html")).text();
  const named = [...html.matchAll(/<(?:script|link)[^>]+(?:src|href)="\/([^"]+)"/g)]
    // Only phones load it, for their home screen.
    .map(([, name]) => name!)
    .filter((name) => name !== "icon-180.png");
  // Referenced in scripts, not in the page.
  const worker = readdirSync(join(directory, "assets")).find((name) => /^stream-worker-.*\.js$/.test(name));
  const violations: string[] = [];
  for (const name of ["index.html", ...named, `assets/${worker}`]) {
    const key = name.replace(/-[\w-]{8}(?=\.\w+$)/, "");
    const copy = Bun.file(join(directory, `${name}.gz`));
    const { size } = (await copy.exists()) ? copy : Bun.file(join(directory, name));
    const max = fileBytesMax[key];
    if (max === undefined) {
      violations.push(
        `dashboard: the first load includes ${name} (${size} bytes), which has no budget. Move it into another file ` +
          "(dashboard/vite.config.ts, codeSplitting), or load it later with lazyPart.",
      );
    } else if (size > max) {
      violations.push(
        `dashboard: ${name} has grown to ${size} bytes gzipped; its budget is ${max}. Load what the first page does not need ` +
          "later with lazyPart, or raise the budget in server/e2e/browser/first-load-budget.ts and say why.",
      );
    }
  }
  return violations;
}
