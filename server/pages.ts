import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { serveStatic } from "hono/bun";
import { etag } from "hono/etag";

/** Where `npm run build` puts the dashboard, with a compressed copy beside each file that compresses. */
const root = join(import.meta.dir, "../dashboard/dist");

const contentSecurityPolicy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "script-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "object-src 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join("; ");

/** The paths of the dashboard's pages, as `dashboard/router.tsx` has them. */
const pagePaths = [
  /^\/(?:sign-in|setup|notifications)?$/,
  /^(?:\/p\/[^/]+)?\/(?:channels\/[^/]+|events\/[^/]+|keys|rejected|settings)$/,
  /^\/p\/[^/]+$/,
];

/**
 * Serves the built dashboard: a file where there is one, and `index.html` for the path of a page. A browser that follows any other address gets
 * `index.html` with status 404, and the dashboard says so.
 */
export function addPages(app: OpenAPIHono): void {
  const options = {
    root,
    precompressed: true,
    async onFound(path: string, { header }: { header: (name: string, value: string) => void }) {
      // By content, since files of reproducible builds all have the same date. Weak: one for all encodings.
      header("etag", `W/"${Bun.hash(await Bun.file(path).bytes()).toString(36)}"`);
      // Hono names it on compressed answers alone.
      header("vary", "accept-encoding");
      header("x-content-type-options", "nosniff");
      // The set-up link holds a token, which no other site should see.
      header("referrer-policy", "same-origin");
      const isAsset = path.startsWith(join(root, "assets/"));
      header("cache-control", isAsset ? "public, max-age=31536000, immutable" : "no-cache");
      if (path.endsWith(".html")) header("content-security-policy", contentSecurityPolicy);
    },
  };
  // Paths that name no file are not looked up: the system has errors of its own for those that are too long.
  const files = new Set(
    existsSync(root) ? readdirSync(root, { recursive: true }).map((name) => `/${String(name)}`) : [],
  );
  const serveKnown = serveStatic(options);
  const serveFile: MiddlewareHandler = (context, next) =>
    files.has(context.req.path) ? serveKnown(context, next) : next();
  const serveIndex = serveStatic({ ...options, path: "index.html" });

  app.get("*", etag(), serveFile, async (context, next) => {
    const { path } = context.req;
    // A missing asset is not a page: a tab from before an update must notice, and must not run HTML as a script.
    if (path.startsWith("/assets/")) return next();
    const isPage = pagePaths.some((pattern) => pattern.test(path.replace(/(?<=.)\/$/, "")));
    const isNavigation = context.req.header("accept")?.includes("text/html") ?? false;
    if (!isPage && !isNavigation) return next();
    if (!isPage) context.status(404);
    const response = await serveIndex(context, async () => {});
    if (!response) return context.text("The dashboard is not built. Run `npm run build`.\n", 503);
    if (!isPage) response.headers.append("vary", "accept");
    return response;
  });
}
