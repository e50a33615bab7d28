import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Hono, MiddlewareHandler } from "hono";
import { serveStatic } from "hono/bun";
import { etag } from "hono/etag";
import { dashboardDirectory as root } from "../process/program-files.ts";
import { everyPage, pagePolicy } from "./security-headers.ts";

/** Workers have a policy of their own, like pages. */
const workers = /\/sw\.js$|\/stream-worker-[^/]+\.js$/;

/** Paths of the dashboard's pages. They must match `dashboard/router.tsx`. */
const pagePaths = [
  /^\/(?:sign-in|sign-up|forgot-password|reset-password|confirm-email|restore-email|setup|notifications|account(?:\/notifications)?|status|invite\/[^/]+|unsubscribe\/[^/]+|alert\/[^/]+|b\/[^/]+)?$/,
  /^(?:\/p\/[^/]+)?\/(?:channels\/[^/]+|events\/[^/]+|users(?:\/[^/]+)?|cohorts(?:\/[^/]+)?|groups\/[^/]+(?:\/[^/]+)?|who|insights|annotations|keys|members|rules(?:\/[^/]+)?|alerts|silences|destinations|on-call|webhooks|deliveries|rejected|connections|audit|reports|settings|boards(?:\/[^/]+)?|heartbeats(?:\/[^/]+)?)$/,
  /^\/p\/[^/]+$/,
];

/**
 * Serves the built dashboard and documentation: files, and `index.html` for the paths of pages. A browser that
 * navigates to any other path gets `index.html` with status 404, and the dashboard shows that the page doesn't exist.
 */
export function addPages(app: Hono): void {
  const options = {
    root,
    precompressed: true,
    async onFound(path: string, { header }: { header: (name: string, value: string) => void }) {
      // Hash of the content, because reproducible builds give all files the same date. Weak, because all encodings
      // share it.
      header("etag", `W/"${Bun.hash(await Bun.file(path).bytes()).toString(36)}"`);
      // Hono sets this only on compressed responses.
      header("vary", "accept-encoding");
      const isAsset = path.startsWith(join(root, "assets/"));
      header("cache-control", isAsset ? "public, max-age=31536000, immutable" : "no-cache");
      if (path.endsWith(".html")) for (const [name, value] of Object.entries(everyPage)) header(name, value);
      else if (workers.test(path)) header("content-security-policy", pagePolicy);
    },
  };
  // Unknown paths never reach the file system, which has errors of its own for paths that are too long.
  const files = new Set(
    existsSync(root) ? readdirSync(root, { recursive: true }).map((name) => `/${String(name)}`) : [],
  );
  const serveKnown = serveStatic(options);
  const serveFile: MiddlewareHandler = (context, next) =>
    files.has(context.req.path) ? serveKnown(context, next) : next();
  const serveIndex = serveStatic({ ...options, path: "index.html" });
  const serveDocs = serveStatic({ ...options, rewriteRequestPath: docsFile });
  const serveMissingDocs = serveStatic({ ...options, path: "docs/404.html" });

  // The documentation needs neither a session nor scripts.
  const serveDocsPage: MiddlewareHandler = (context, next) => {
    const { path } = context.req;
    if (!/^\/docs(?:\/|$)/.test(path)) return next();
    if (files.has(docsFile(path))) return serveDocs(context, next);
    if (/\.(?:webp|json|yaml)$/.test(path) || !files.has("/docs/404.html")) return next();
    context.status(404);
    return serveMissingDocs(context, next);
  };

  app.get("*", etag(), serveDocsPage, serveFile, async (context, next) => {
    const { path } = context.req;
    // A missing asset is not a page: a tab from before an update must get an error instead of running HTML as a script.
    if (path.startsWith("/assets/")) return next();
    const isPage = pagePaths.some((pattern) => pattern.test(path.replace(/(?<=.)\/$/, "")));
    const isNavigation = context.req.header("accept")?.includes("text/html") ?? false;
    if (!isPage && !isNavigation) return next();
    if (!isPage) context.status(404);
    const response = await serveIndex(context, async () => {});
    if (!response) return context.text("The dashboard is not built. Run `npm run build`.\n", 503);
    if (!isPage) response.headers.append("vary", "accept");
    // Public boards are for those who have the link, and for no search engine.
    if (path.startsWith("/b/")) response.headers.set("x-robots-tag", "noindex");
    return response;
  });
}

/** The file of a page of the documentation: `/docs/api` is `docs/api.html`. */
function docsFile(path: string): string {
  const page = path.replace(/\/$/, "");
  return page === "/docs" ? "/docs/index.html" : `${page}.html`;
}
