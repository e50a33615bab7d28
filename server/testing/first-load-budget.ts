/**
 * What the first load of the dashboard may cost. `pages-first-load.test.ts` holds a real browser to the requests and the bytes; run as a program,
 * as `npm run check` does, it holds the build to the sizes of its files.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** All requests of a first visit to the feed: page, scripts, styles, font, icons, manifest, worker, API. */
export const requestsMax = 16;
/** All that the server sends for them, with headers. */
export const bytesMax = 180_000;

/** Bytes of each file of the build that the first load takes, gzipped where that is done; brotli is smaller. */
const fileBytesMax: Record<string, number> = {
  "index.html": 700,
  "theme.js": 400,
  "mark.svg": 400,
  "manifest.webmanifest": 400,
  "assets/index.js": 31_000,
  "assets/vendor.js": 111_000,
  "assets/rolldown-runtime.js": 500,
  "assets/index.css": 8_600,
  "assets/hanken-grotesk-latin.woff2": 20_000,
  "assets/stream-worker.js": 1_800,
};

const root = join(import.meta.dir, "../..");
const directory = join(root, "dashboard/dist");

if (import.meta.main) {
  const { exitCode } = Bun.spawnSync(["node", "scripts/build.mjs"], {
    cwd: root,
    stdout: "inherit",
    stderr: "inherit",
  });
  if (exitCode !== 0) process.exit(exitCode);
  const excesses = await overBudget();
  for (const excess of excesses) console.error(excess);
  process.exit(excesses.length > 0 ? 1 : 0);
}

/** A sentence for each file of the first load that is larger than its budget, or has none. */
async function overBudget(): Promise<string[]> {
  const html = await Bun.file(join(directory, "index.html")).text();
  const named = [...html.matchAll(/<(?:script|link)[^>]+(?:src|href)="\/([^"]+)"/g)]
    // Phones alone load it, and only for their home screen.
    .map(([, name]) => name!)
    .filter((name) => name !== "icon-180.png");
  // Scripts name it, the page doesn't.
  const worker = readdirSync(join(directory, "assets")).find((name) => /^stream-worker-.*\.js$/.test(name));
  const excesses: string[] = [];
  for (const name of ["index.html", ...named, `assets/${worker}`]) {
    const part = name.replace(/-[\w-]{8}(?=\.\w+$)/, "");
    const copy = Bun.file(join(directory, `${name}.gz`));
    const { size } = (await copy.exists()) ? copy : Bun.file(join(directory, name));
    const max = fileBytesMax[part];
    if (max === undefined) {
      excesses.push(
        `dashboard: the first load takes ${name}, ${size} bytes, which has no budget. Move it into another of its files ` +
          "(dashboard/vite.config.ts, codeSplitting), or load it later with lazyPart.",
      );
    } else if (size > max) {
      excesses.push(
        `dashboard: ${name} has grown to ${size} bytes gzipped; its budget is ${max}. Load what the first page does not need ` +
          "later with lazyPart, or raise the budget in server/testing/first-load-budget.ts and say why.",
      );
    }
  }
  return excesses;
}
