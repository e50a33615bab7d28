import { z } from "@hono/zod-openapi";
import { dataHeaders, problem } from "../core/problems.ts";
import type { Routes } from "../http/routes.ts";
import { WebsiteEvents } from "../schemas/website.ts";
import type { WebsiteReceiver } from "./receive.ts";
import { encodingFor, scriptFiles } from "./script-files.ts";

/** Paths that pages of other sites load and call. */
export const websitePaths = ["/t", "/t.js", "/t/*", "/s/*"];

/** Browsers ask again after this, and a new version comes within a day. */
const scriptCacheSeconds = 24 * 60 * 60;

const shared = { tag: "Website", by: "anyone" } as const;

/** The script of web pages, and the address that it sends to: its own without `.js`. */
export function addWebsiteRoutes(routes: Routes, { website }: { website: WebsiteReceiver }): void {
  const script = {
    ...shared,
    method: "get",
    response: z.string(),
    responseType: "text/javascript",
  } as const;
  routes.add(
    {
      ...script,
      path: "/t.js",
      operationId: "getWebsiteScript",
      summary: "Get the script for web pages",
      description: "See docs/website.md.",
      problems: [404],
    },
    ({ request }) => respond(request),
  );
  routes.add(
    {
      ...script,
      path: "/s/{name}",
      operationId: "getNamedWebsiteScript",
      summary: "Get the script for web pages at an address of your choice",
      description: "`name` is letters, digits, - and _, and `.js`.",
      problems: [404],
    },
    async ({ request, parameter }) => {
      if (!/^[\w-]{1,64}\.js$/.test(parameter("name"))) throw unknownScript();
      return respond(request);
    },
  );
  for (const [path, operationId] of [
    ["/t/{version}", "getWebsiteScriptVersion"],
    ["/s/{name}/{version}", "getNamedWebsiteScriptVersion"],
  ] as const)
    routes.add(
      {
        ...script,
        path,
        operationId,
        summary: "Get a version of the script, for pages that check its integrity",
        description: "`version` is the version's hash and `.js`. It never changes.",
        problems: [404],
      },
      ({ request, parameter }) => respond(request, parameter("version")),
    );
  for (const [path, operationId] of [
    ["/t", "sendWebsiteEvents"],
    ["/s/{name}", "sendNamedWebsiteEvents"],
  ] as const)
    routes.add(
      {
        ...shared,
        by: "sender",
        method: "post",
        path,
        operationId,
        summary: "Send what happens on a web page",
        description:
          "What the script calls, as `text/plain` so that there is no preflight. The key is in the body, and must be publishable.",
        optionalBody: WebsiteEvents,
        otherBodyTypes: ["text/plain"],
        status: 204,
        response: z.undefined(),
        problems: [400, 403, 413, 415, 422, 429, 503, 507],
      },
      async ({ request }) => {
        await website.receive(request);
        return new Response(null, { status: 204, headers: dataHeaders });
      },
    );
}

async function respond(request: Request, version?: string): Promise<Response> {
  const files = await scriptFiles();
  if (!files) throw problem("route-unknown", { detail: "The script is not built. Run `npm run build`." });
  if (version !== undefined && version !== `${files.hash}.js`) throw unknownScript();
  const encoding = encodingFor(request.headers.get("accept-encoding"), files);
  const etag = `W/"${files.hash}"`;
  const headers = new Headers({
    "content-type": "text/javascript; charset=utf-8",
    "cache-control":
      version === undefined ? `public, max-age=${scriptCacheSeconds}` : "public, max-age=31536000, immutable",
    // The pages that load it are of other sites.
    "cross-origin-resource-policy": "cross-origin",
    vary: "accept-encoding",
    etag,
    "x-integrity": files.integrity,
  });
  if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
  if (encoding !== "identity") headers.set("content-encoding", encoding);
  return new Response(files.bodies.get(encoding)!, { headers });
}

function unknownScript() {
  return problem("route-unknown", {
    detail:
      "There is no script at this address. The newest is at /t.js, or at /s/NAME.js with a name of letters, digits, - and _. Another version of Tidings has another hash.",
  });
}
