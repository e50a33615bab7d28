import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Asks for the typeface together with the script, so that the first text is already set in it. */
function preloadFont(): Plugin {
  return {
    name: "tidings-preload-font",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(_html, { bundle }) {
        const font = Object.keys(bundle ?? {}).find(
          (file) => /hanken-grotesk-latin-[^/]*\.woff2$/.test(file) && !file.includes("ext"),
        );
        if (!font) throw new Error("The bundle has no latin font to preload");
        return [
          {
            tag: "link",
            attrs: { rel: "preload", href: `/${font}`, as: "font", type: "font/woff2", crossorigin: "" },
            injectTo: "head",
          },
        ];
      },
    },
  };
}

/** Writes a brotli and a gzip copy beside each file that compresses, as `serveStatic` of Hono looks for them. */
function compress(): Plugin {
  return {
    name: "tidings-compress",
    apply: "build",
    // Also the files of public/, which the bundle does not have.
    closeBundle() {
      const directory = join(import.meta.dirname, "dist");
      for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
        if (!/\.(?:js|css|html|svg|webmanifest)$/.test(name)) continue;
        const file = join(directory, name);
        const content = readFileSync(file);
        writeFileSync(`${file}.br`, brotliCompressSync(content));
        writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss(), preloadFont(), compress()],
  build: {
    target: "es2022",
    // The content security policy has no `data:` for fonts and scripts, so nothing may be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // Changes rarely, so that an update of Tidings leaves it in the browser's cache.
            {
              name: "vendor",
              test: /node_modules\/(react|react-dom|scheduler|@tanstack\/(?!react-virtual|virtual))/,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { "/api": "http://localhost:4242" } },
});
