/** Checks what `createClient` adds to an application's bundle: minified and compressed with Brotli. */
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";

const bytesMax = { core: 4_000, reader: 1_450 };

const library = fileURLToPath(new URL("src/index.ts", import.meta.url));
const application = `import { createClient } from ${JSON.stringify(library)}; globalThis.createClient = createClient;`;
const bundle = await rolldown({
  input: "application",
  plugins: [
    {
      name: "application",
      resolveId: (id) => (id === "application" ? id : null),
      load: (id) => (id === "application" ? application : null),
    },
  ],
});
const { output } = await bundle.generate({ format: "esm", minify: true });
const sizes = { core: 0, reader: 0 };
for (const { code, name } of output) {
  // Loaded at the first call of `list`, `events`, `live` or `identify`.
  sizes[name === "reader" ? "reader" : "core"] += brotliCompressSync(code).length;
}
for (const [name, bytes] of Object.entries(sizes)) {
  console.log(`${name}: ${bytes} of ${bytesMax[name]} bytes`);
  if (bytes > bytesMax[name]) process.exitCode = 1;
}
