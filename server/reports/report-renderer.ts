import type { Kysely } from "kysely";
import { findBoard } from "../boards/boards.ts";
import { isoOf } from "../core/iso.ts";
import type { ReportNotification } from "../notifications/notification-message.ts";
import type { RenderedReport, ReportRenderer } from "../notifications/send-delivery.ts";
import type { Board } from "../schemas/board.ts";
import type { ReportSchedule } from "../schemas/report.ts";
import { titleOf } from "../schemas/tile-texts.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { drawReport } from "./draw-report.ts";
import { renderPicture } from "./render-picture.ts";
import type { PictureLinks } from "./report-links.ts";
import type { Period } from "./report-schedule.ts";
import { sectionOf } from "./report-sections.ts";
import { comparedText, dayText, periodText, whyText } from "./report-texts.ts";
import { type ComputedTile, computeTiles } from "./report-tiles.ts";

type Deps = {
  store: Pick<Store, "events" | "control">;
  links: PictureLinks;
  onError: (error: unknown) => void;
};

/** A board in a period, to be drawn. */
type Drawn = Period & { board: Board; project: string };

/** Renders what is sent of a report, when it is sent: so it stores nothing of the events that it tells of. */
export function createReportRenderer({ store, links, onError }: Deps): ReportRenderer {
  return async ({ projectId, notification, project, takesPicture, nowMs }) => {
    const found = await findScheduled(store.control, projectId, notification);
    if (!found) return null;
    const { board, schedule, isOwn } = found;
    const { every, timeZone, beforeMs, fromMs, toMs, isTest } = notification;
    const period = { every, timeZone, beforeMs, fromMs, toMs };
    const drawn = { board, project, ...period };
    const tiles = await computeTiles(store, projectId, board, period);
    const svg = drawingOf(drawn, tiles);
    const rendered: RenderedReport = {
      picture: null,
      content: {
        board: { id: board.id, name: board.name },
        from: isoOf(fromMs),
        to: isoOf(toMs),
        before: isoOf(beforeMs),
        timeZone,
        days: { from: dayText(fromMs, timeZone), to: dayText(toMs - 1, timeZone) },
        period: periodText(drawn),
        compared: comparedText(every),
        sections: tiles.map((tile) => sectionOf(tile, { compared: comparedText(every), timeZone })),
        tiles: tiles.map(({ tile, ...computed }) => ({
          id: tile.id,
          type: tile.type,
          title: titleOf(tile),
          ...computed,
        })),
        pictureUrl:
          svg === null || takesPicture
            ? null
            : links.url({ reportId: notification.report, ...period }, nowMs),
        why: whyText(schedule, isOwn),
        isTest,
      },
    };
    if (!takesPicture || svg === null) return rendered;
    try {
      return { ...rendered, picture: await renderPicture(projectId, svg) };
    } catch (error) {
      // The numbers go alone.
      onError(error);
      return rendered;
    }
  };
}

/** Draws a board's picture as PNG; null if it has nothing to draw. Throws what computing and rendering throw. */
export async function drawBoard(
  store: Pick<Store, "events" | "control">,
  projectId: number,
  drawn: Drawn,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const svg = drawingOf(drawn, await computeTiles(store, projectId, drawn.board, drawn));
  return svg === null ? null : renderPicture(projectId, svg);
}

function drawingOf(drawn: Drawn, tiles: readonly ComputedTile[]): string | null {
  const { board, project, timeZone } = drawn;
  // A card has no room for more.
  const style = { compared: "before", timeZone };
  return drawReport({
    title: board.name,
    subtitle: `${project} · ${periodText(drawn)}`,
    timeZone,
    tiles: tiles.map((tile) => ({ ...tile, section: sectionOf(tile, style) })),
  });
}

/** The report and its board as they are now; null if it was deleted, or turned off before it was sent. */
async function findScheduled(
  control: Kysely<ControlTables>,
  projectId: number,
  { report, isTest }: Pick<ReportNotification, "report" | "isTest">,
): Promise<{ board: Board; schedule: ReportSchedule; isOwn: boolean } | null> {
  const row = await control
    .selectFrom("reports")
    .select(["boardId", "schedule", "accountId", "enabled"])
    .where("id", "=", report)
    .where("projectId", "=", projectId)
    .executeTakeFirst();
  if (!row || (row.enabled === 0 && !isTest)) return null;
  return {
    board: await findBoard(control, projectId, row.boardId),
    schedule: JSON.parse(row.schedule) as ReportSchedule,
    isOwn: row.accountId !== null,
  };
}
