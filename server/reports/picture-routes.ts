import { z } from "@hono/zod-openapi";
import { LRUCache } from "lru-cache";
import { findBoard } from "../boards/boards.ts";
import { PublicQueue } from "../boards/public-queue.ts";
import { limits } from "../core/limits.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { Routes } from "../http/routes.ts";
import { requestSignal } from "../scheduling/deadline.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";
import { type PictureLinks, unknownPicture } from "./report-links.ts";
import { drawBoard } from "./report-renderer.ts";

type Deps = {
  store: Store;
  pictureLinks: PictureLinks;
  addressOf: (request: Request) => string | null;
};

const pictureType = "image/png";
const cacheSeconds = 24 * 60 * 60;

/**
 * Pictures of reports, for whoever has their address. They are drawn when they are opened, so nothing of events is kept
 * for them.
 */
export function addPictureRoutes(routes: Routes, { store, pictureLinks, addressOf }: Deps): void {
  const { control } = store;
  const perMinute = { points: limits.reportPictureRequestsPerMinute, seconds: 60 };
  const perAddress = store.rateLimiter({ name: "report-pictures", ...perMinute });
  const perReport = store.rateLimiter({ name: "report-pictures-total", ...perMinute });
  const queue = new PublicQueue();
  // Chats open a picture several times within minutes. An erased user must not stay in it for long.
  const kept = new LRUCache<string, Uint8Array<ArrayBuffer>>({
    max: limits.reportPicturesKept,
    ttl: 10 * 60 * 1_000,
  });

  routes.add(
    {
      method: "get",
      path: "/reports/{picture}",
      operationId: "getReportPicture",
      by: "anyone",
      tag: "Reports",
      summary: "Get the picture of a report",
      description:
        "A PNG, at the address that the report's message has. It works for 30 days, as long as there is the report.",
      response: z.string(),
      responseType: pictureType,
      problems: [404, 429, 503],
    },
    async ({ request, parameter }) => {
      await takePoint(perAddress, clientNetwork(addressOf(request)), "requests for pictures");
      const file = parameter("picture");
      const { reportId, ...period } = pictureLinks.read(file, Date.now());
      await takePoint(perReport, reportId, "requests for pictures");
      const row = await control
        .selectFrom("reports")
        .innerJoin("projects", "projects.id", "reports.projectId")
        .select(["projectId", "boardId", "projects.name as project"])
        .where("reports.id", "=", reportId)
        .where("projects.deletedAt", "is", null)
        .executeTakeFirst();
      if (!row) throw unknownPicture();
      const { projectId, project, boardId } = row;
      const board = await findBoard(control, projectId, boardId);
      const key = `${file} ${board.version}`;
      const drawn = { board, project, ...period };
      const png =
        kept.get(key) ??
        (await queue.run(projectId, key, requestSignal() ?? request.signal, () =>
          drawBoard(store, projectId, drawn),
        ));
      if (!png) throw unknownPicture();
      kept.set(key, png);
      return new Response(png, {
        headers: {
          "content-type": pictureType,
          "cache-control": `private, max-age=${cacheSeconds}`,
          "cross-origin-resource-policy": "cross-origin",
          "x-robots-tag": "noindex",
        },
      });
    },
  );
}
