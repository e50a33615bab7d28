/** Checks the size of what a page loads for `createClient`: minified and compressed with Brotli. */
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";

const bytesMax = { core: 4_800, live: 900 };

const bundle = await rolldown({ input: fileURLToPath(new URL("src/index.ts", import.meta.url)) });
const { output } = await bundle.generate({ format: "esm", minify: true });
const sizes = { core: 0, live: 0 };
for (const { code, name } of output) {
  // Loaded at the first call of `live`.
  sizes[name === "live" ? "live" : "core"] += brotliCompressSync(code).length;
}
for (const [name, bytes] of Object.entries(sizes)) {
  console.log(`${name}: ${bytes} of ${bytesMax[name]} bytes`);
  if (bytes > bytesMax[name]) process.exitCode = 1;
}
