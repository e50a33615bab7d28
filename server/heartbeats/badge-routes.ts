import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { Routes } from "../http/routes.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";
import { stateIn } from "./apply.ts";
import { badgeSvg } from "./badge.ts";
import { stateOf } from "./heartbeat-state.ts";
import { timesOf } from "./heartbeats.ts";

const cacheSeconds = 60;

/** Badges, for whoever has their address: pages of other sites show them as images. */
export function addBadgeRoutes(
  routes: Routes,
  { store, addressOf }: { store: Store; addressOf: (request: Request) => string | null },
): void {
  const { control } = store;
  const limiter = store.rateLimiter({ name: "badges", points: limits.badgeRequestsPerMinute, seconds: 60 });

  routes.add(
    {
      method: "get",
      path: "/badge/{badge}",
      operationId: "getBadge",
      by: "anyone",
      tag: "Heartbeats",
      summary: "Get the badge of a heartbeat",
      description: "An SVG image with its name and state. `badge` is the badge's token with `.svg`.",
      response: z.string(),
      responseType: "image/svg+xml",
      problems: [404, 429],
    },
    async ({ request, parameter }) => {
      await takePoint(limiter, clientNetwork(addressOf(request)), "requests for badges");
      const row = await control
        .selectFrom("heartbeats")
        .selectAll()
        .where("badgeToken", "=", parameter("badge").replace(/\.svg$/, ""))
        .executeTakeFirst();
      if (!row)
        throw problem("heartbeat-unknown", {
          detail: "There is no badge at this address. It may have been turned off, or its address replaced.",
        });
      return new Response(badgeSvg(row.name, stateOf(timesOf(row), stateIn(row), Date.now())), {
        headers: {
          "content-type": "image/svg+xml",
          "cache-control": `public, max-age=${cacheSeconds}`,
          "cross-origin-resource-policy": "cross-origin",
        },
      });
    },
  );
}
