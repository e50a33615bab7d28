import type { IncomingMessage } from "node:http";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { limits } from "../server/core/limits.ts";

/** Preloads the font along with the script, so that the first text already uses it. */
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

/** Writes limits as numbers, because the first load needs few of them. */
function inlineLimits(): Plugin {
  const values = new Map<string, unknown>(Object.entries(limits));
  return {
    name: "tidings-inline-limits",
    apply: "build",
    enforce: "pre",
    transform(code, id) {
      if (!/\.tsx?$/.test(id) || !code.includes('/limits.ts"')) return null;
      const inlined = code.replace(/\blimits\.(\w+)/g, (member, name) => {
        const value = values.get(name);
        return typeof value === "number" ? `(${value})` : member;
      });
      return { code: inlined, map: null };
    },
  };
}

/** A page to look at, and a route to post to. */
const pageAndRoute = {
  target: "http://localhost:4242",
  bypass: ({ method, url }: IncomingMessage) => (method === "GET" ? url : undefined),
};

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss(), preloadFont(), inlineLimits()],
  resolve: {
    alias: { "react-style-singleton": `${import.meta.dirname}/components/style-singleton.ts` },
  },
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
            // Changes rarely, so it stays in the browser's cache when Tidings is updated.
            {
              name: "vendor",
              test: /node_modules\/(?:react|react-dom|scheduler|@tanstack)\//,
              tags: ["$initial"],
              priority: 2,
            },
            // Without this, every module shared with a lazily loaded page becomes its own file.
            { name: "app", tags: ["$initial"], priority: 1 },
            // Otherwise a file for each part that the feed's histogram and boards share.
            {
              name: "charts",
              test: /dashboard\/charts\/|dashboard\/annotations\/use-marks|dashboard\/boards\/(?:use-board-marks|tile-scroll)|node_modules\/uplot\//,
            },
            // Otherwise a file for each part that some of the pages with forms share.
            {
              name: "edits",
              test: /dashboard\/(?:edits\/|components\/(?:days-field|size|waiting-mark|ui\/name-dialog)\.|views\/saved-search|settings\/(?:group|saved-field|schedule-text)\.|rules\/search-field|channels\/icon-field)/,
            },
            // Otherwise a file for each icon that two pages share, and all their names in the first load.
            { name: "icons", test: /node_modules\/lucide-react\/|dashboard\/connections\/connection-icons/ },
            // Otherwise a file for each few lines that pages of these kinds share.
            {
              name: "sign-in",
              test: /dashboard\/account\/(?:account-fields|auth-layout|new-password-field)/,
            },
            {
              name: "people",
              test: /dashboard\/(?:users\/(?:users|activity-days)|groups\/(?:groups|group-text))\./,
            },
            { name: "silences", test: /dashboard\/silences\/(?:silences|silence-note)\./ },
            { name: "event", test: /server\/event\/(?:id|event-format)\./ },
            // Otherwise two files of a few lines for lists with pages.
            { name: "lists", test: /nfiniteQuery/ },
          ],
        },
      },
    },
  },
  server: {
    proxy: {
      "/api/": "http://localhost:4242",
      // The script of web pages, and what it sends.
      "^/(t|t\\.js|[st]/.*)$": "http://localhost:4242",
      "/unsubscribe": pageAndRoute,
      "/alert/": pageAndRoute,
    },
  },
});
