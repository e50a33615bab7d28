/**
 * Builds the script of web pages into the dashboard's `dist/assets/page-script-HASH.js`. With `--check`, it only measures
 * it: pages load it for each visitor, so its size has a budget.
 */
import { createHash } from "node:crypto";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";

const bytesMax = 2_500;
const hashCharacters = 16;

const assets = fileURLToPath(new URL("../dashboard/dist/assets/", import.meta.url));
const bundle = await rolldown({ input: fileURLToPath(new URL("src/script/website.ts", import.meta.url)) });
const { output } = await bundle.generate({ format: "iife", minify: true, comments: false });
const { code } = output[0];
const { length } = brotliCompressSync(code);
console.log(`The script of web pages has ${length} of ${bytesMax} bytes with Brotli.`);
if (length > bytesMax) process.exitCode = 1;
if (!process.argv.includes("--check")) {
  for (const name of readdirSync(assets)) if (/^page-script-/.test(name)) rmSync(assets + name);
  const hash = createHash("sha256").update(code).digest("hex").slice(0, hashCharacters);
  writeFileSync(`${assets}page-script-${hash}.js`, code);
}
