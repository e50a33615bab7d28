/** Writes a Brotli and a gzip copy next to each compressible build file, where Hono's `serveStatic` looks for them. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";

const directory = join(import.meta.dir, "dist");

for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
  if (!/\.(?:js|css|html|json|svg|webmanifest)$/.test(name)) continue;
  const file = join(directory, name);
  const content = await Bun.file(file).bytes();
  await Bun.write(`${file}.br`, brotliCompressSync(content));
  // 4 % smaller than zlib's best level. Over plain HTTP, browsers accept only gzip.
  await Bun.write(`${file}.gz`, Bun.gzipSync(content, { library: "libdeflate", level: 12 }));
}
