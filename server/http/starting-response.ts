import { dataHeaders, problem } from "../core/problems.ts";
import { everyResponse } from "./security-headers.ts";

/** After this time, clients and the page ask again. */
const retrySeconds = 2;

/**
 * Answers requests until the storage is open: the process is healthy, and clients should try again. A browser gets a
 * page that loads again by itself.
 *
 * @param migration - how far an upgrade of the database is, as a sentence; null if none runs
 */
export function startingResponse(request: Request, migration: string | null): Response {
  const path = URL.parse(request.url, "http://localhost")?.pathname;
  if (path === "/healthz") return Response.json({ ok: true });
  const response = problem(migration === null ? "storage-unavailable" : "migrating", {
    detail: migration ?? "Tidings is starting. Try again in a moment.",
    retryAfterSeconds: retrySeconds,
  }).toResponse();
  const isPage = request.method === "GET" && request.headers.get("accept")?.includes("text/html");
  return isPage && !path?.startsWith("/api/") ? startingPage(migration) : response;
}

/** A page of its own, because the dashboard's files belong to the version that is still starting. */
function startingPage(migration: string | null): Response {
  const [title, text] =
    migration === null
      ? ["Tidings is starting", "This page loads again by itself."]
      : ["Tidings is upgrading its database", `${migration} This page loads again by itself.`];
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
  :root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif; }
  body { display: grid; place-content: center; min-height: 100dvh; max-width: 36rem; margin: 0 auto; padding: 0 24px; }
  h1 { margin: 0 0 4px; font-size: 16px; }
  p { margin: 0; opacity: .7; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
</style>
<main><h1>${title}</h1><p>${Bun.escapeHTML(text)}</p></main>
</html>
`;
  return new Response(page, {
    status: 503,
    headers: {
      ...dataHeaders,
      ...everyResponse,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      "retry-after": String(retrySeconds),
      refresh: String(retrySeconds),
    },
  });
}
