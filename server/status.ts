import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "@hono/zod-openapi";
import { version } from "./config.ts";
import type { Routes } from "./http/routes.ts";
import { textResponse } from "./http/text-response.ts";
import { metricsResponse } from "./metrics/serve-metrics.ts";
import { problem } from "./problems.ts";
import type { Services } from "./services.ts";

const Ok = z.object({ ok: z.literal(true) });

export function addStatusRoutes(routes: Routes, { readiness, metrics, config }: Services): void {
  routes.add(
    {
      method: "get",
      path: "/healthz",
      by: "anyone",
      tag: "Status",
      summary: "Check that the server runs",
      response: Ok,
    },
    async () => ({ ok: true }),
  );

  routes.add(
    {
      method: "get",
      path: "/readyz",
      by: "anyone",
      tag: "Status",
      summary: "Check that the database can be read and written",
      description: "Responds within two seconds. 503 says why the server isn't ready.",
      response: Ok,
      problems: [503],
    },
    async () => {
      await readiness.check();
      return { ok: true };
    },
  );

  routes.app.get("/metrics", async ({ req }, next) => {
    if (!metrics || config.metricsToken === null) return next();
    if (!isSame(req.header("authorization") ?? "", `Bearer ${config.metricsToken}`))
      throw problem("key-missing", { detail: "Send the token of TIDINGS_METRICS_TOKEN as a bearer token." });
    return metricsResponse(metrics);
  });

  // Generated on first use: it takes as long as recording a thousand events, and anyone can request it.
  let description: string | undefined;
  routes.app.get("/openapi.json", ({ req }) => {
    description ??= JSON.stringify(describeApi(routes));
    return textResponse(req.raw, description, { headers: { "content-type": "application/json" } });
  });
}

/** Compares in constant time, so that the time of an answer tells nothing of the token. */
function isSame(text: string, expected: string): boolean {
  const [a, b] = [text, expected].map((each) => createHash("sha256").update(each).digest());
  return timingSafeEqual(a!, b!);
}

/** Returns the OpenAPI 3.1 description. */
function describeApi(routes: Routes) {
  return routes.app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Tidings",
      version,
      description: "Record, search and stream events, and get notified. Errors are RFC 9457 problem details.",
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: [{ url: "/" }],
  });
}
