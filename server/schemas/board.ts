import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { projectParameter, timestamp } from "../event/event-query.ts";
import { text } from "../validation/text.ts";
import { Tile } from "./tile.ts";
import { version } from "./version.ts";

const boardName = text({ max: limits.boardNameCharacters, filled: true });

const tiles = z
  .array(Tile)
  .max(limits.tiles, `must have at most ${limits.tiles} tiles`)
  .superRefine((tiles, context) => {
    const seen = new Set<string>();
    for (const [index, { id }] of tiles.entries()) {
      if (seen.has(id))
        context.addIssue({
          code: "custom",
          path: [index, "id"],
          message: "is the ID of another tile of the board",
        });
      seen.add(id);
    }
  });

export const NewBoard = z
  .strictObject({
    name: boardName,
    tiles: tiles.default([]),
  })
  .openapi("NewBoard", {
    example: {
      name: "Shop",
      tiles: [
        {
          id: "orders",
          type: "line",
          title: "Orders",
          x: 0,
          y: 0,
          w: 6,
          h: 4,
          q: "channel:orders",
          metric: "events",
        },
      ],
    },
  });
export type NewBoard = z.input<typeof NewBoard>;

export const BoardChange = z
  .strictObject({
    name: boardName.optional(),
    tiles: tiles.optional().openapi({ description: "Replaces all tiles." }),
    position: z
      .int("must be a whole number")
      .min(0, "must be at least 0")
      .max(limits.boards, `must be at most ${limits.boards}`)
      .optional()
      .openapi({ description: "Its place among the project's boards, from 0." }),
  })
  .refine(
    ({ name, tiles, position }) => name !== undefined || tiles !== undefined || position !== undefined,
    "changes nothing. Send a name, tiles or a position",
  )
  .openapi("BoardChange");
export type BoardChange = z.infer<typeof BoardChange>;

const summary = {
  id: z.string(),
  name: z.string(),
  isPublic: z.boolean().openapi({ description: "Whether it has a public link." }),
  version,
  linkVersion: z.string().openapi({
    description: "Changes with each new public link. Changes of the link take it as `If-Match`.",
  }),
  createdAt: z.string().openapi({ format: "date-time" }),
  updatedAt: z.string().openapi({ format: "date-time" }),
};

export const BoardSummary = z.object(summary).openapi("BoardSummary");
export type BoardSummary = z.infer<typeof BoardSummary>;

/** A page of tiles. */
export const Board = z.object({ ...summary, tiles: z.array(Tile) }).openapi("Board");
export type Board = z.infer<typeof Board>;

export const BoardList = z
  .object({ ok: z.literal(true), boards: z.array(BoardSummary) })
  .openapi("BoardList");
export const BoardResponse = z.object({ ok: z.literal(true), board: Board }).openapi("BoardResponse");
export const BoardLinkResponse = z
  .object({ ok: z.literal(true), link: z.string().openapi({ description: "Shown only once." }) })
  .openapi("BoardLinkResponse");

/** A board as its public link shows it: no searches, and nothing about people. */
const PublicBoard = z
  .object({
    name: z.string(),
    version: z.string().openapi({ description: "Changes with what it shows." }),
    timeZone: z
      .string()
      .nullable()
      .openapi({ description: "Of the project's days. Null: that of the browser." }),
    tiles: z.array(z.record(z.string(), z.unknown())).openapi({ description: "Tiles without searches." }),
  })
  .openapi("PublicBoard");
export const PublicBoardResponse = z
  .object({ ok: z.literal(true), board: PublicBoard })
  .openapi("PublicBoardResponse");

const range = {
  from: timestamp.optional().openapi({ description: "Start of the range, inclusive. Default: 7 days ago." }),
  to: timestamp.optional().openapi({ description: "End of the range, exclusive. Default: now." }),
  timeZone: z.string().default("UTC").openapi({
    description: "IANA time zone in which days begin. Default: UTC.",
    example: "Europe/Berlin",
  }),
  compare: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "Also returns the results of the period of the same length before." }),
  before: timestamp.optional().openapi({
    description:
      "With `compare`: where that period begins, before `from`. Default: so that it ends where the range begins.",
  }),
};
/** The period that a board shows. */
export const PublicTileDataQuery = z.strictObject(range);
export type TileRange = z.infer<typeof PublicTileDataQuery>;
export const TileDataQuery = z.strictObject({ ...range, project: projectParameter });

/** A tile that is not saved yet. */
export const TilePreview = z.strictObject({ tile: Tile }).openapi("TilePreview");
