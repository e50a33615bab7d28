import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

/** Where `npm run build` puts the dashboard. */
const directory = join(import.meta.dir, "../dashboard/dist");

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

type Page = {
  type: string;
  etag: string;
  plain: Uint8Array<ArrayBuffer>;
  brotli: Uint8Array<ArrayBuffer> | null;
};

const compressible = /^(?:text\/|application\/(?:json|javascript|manifest\+json)|image\/svg)/;

/** The paths of the dashboard's pages, as `dashboard/router.tsx` has them. */
const pagePaths = [
  /^\/(?:sign-in|setup|notifications)?$/,
  /^(?:\/p\/[^/]+)?\/(?:channels\/[^/]+|events\/[^/]+|keys|rejected|settings)$/,
  /^\/p\/[^/]+$/,
];

/**
 * Serves the built dashboard: a file where there is one, and its `index.html` for the path of a page. Somebody who follows an address that is none
 * is told so by the dashboard, with status 404; null where it was not asked for as a page. Files are read once, and compressed then.
 */
export function createPages(): (request: Request) => Promise<Response | null> {
  const files = new Set(
    existsSync(directory) ? (readdirSync(directory, { recursive: true }) as string[]) : [],
  );
  const pages = new Map<string, Page>();

  async function page(name: string): Promise<Page> {
    const known = pages.get(name);
    if (known) return known;
    const file = Bun.file(join(directory, name));
    const plain = await file.bytes();
    const type = name.endsWith(".webmanifest") ? "application/manifest+json" : file.type;
    const made: Page = {
      type,
      etag: `"${Bun.hash(plain).toString(36)}"`,
      plain,
      brotli: compressible.test(type)
        ? new Uint8Array(brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }))
        : null,
    };
    pages.set(name, made);
    return made;
  }

  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return null;
    const path = decodedPath(request.url);
    const isFile = files.has(path) && path.includes(".");
    // A missing asset is not a page: an old tab is to notice, and not to run HTML as a script.
    if (!isFile && path.startsWith("assets/")) return null;
    const isPage = isPagePath(request.url);
    const isNavigation = request.headers.get("accept")?.includes("text/html") ?? false;
    if (!isFile && !isPage && !isNavigation) return null;
    const status = isFile || isPage ? 200 : 404;
    const name = isFile ? path : "index.html";
    if (!files.has(name)) {
      return new Response("The dashboard is not built. Run `npm run build`.\n", { status: 503 });
    }
    const { type, etag, plain, brotli } = await page(name);
    const headers = new Headers({
      "content-type": type,
      etag,
      vary: isFile || isPage ? "accept-encoding" : "accept, accept-encoding",
      "x-content-type-options": "nosniff",
      // The set-up link holds a token, which is nobody else's business.
      "referrer-policy": "same-origin",
      "cache-control": name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache",
    });
    if (name === "index.html") headers.set("content-security-policy", contentSecurityPolicy);
    if (status === 200 && request.headers.get("if-none-match") === etag)
      return new Response(null, { status: 304, headers });
    const takesBrotli = brotli && /\bbr\b/.test(request.headers.get("accept-encoding") ?? "");
    if (takesBrotli) headers.set("content-encoding", "br");
    const body = takesBrotli ? brotli : plain;
    return new Response(request.method === "HEAD" ? null : body, { status, headers });
  };
}

function isPagePath(url: string): boolean {
  const path = new URL(url).pathname.replace(/(?<=.)\/$/, "");
  return pagePaths.some((pattern) => pattern.test(path));
}

function decodedPath(url: string): string {
  try {
    return decodeURIComponent(new URL(url).pathname).slice(1);
  } catch {
    return "";
  }
}
