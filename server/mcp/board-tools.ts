import { z } from "@hono/zod-openapi";
import { MarkList } from "../schemas/annotation.ts";
import { BoardList, BoardResponse } from "../schemas/board.ts";
import { ReportList } from "../schemas/report.ts";
import { filters, timeZone } from "./inputs.ts";
import { segmentOf, type Tool, withQuery } from "./tool.ts";

/** The tools that read boards, and what their charts mark. */
export const boardTools: readonly Tool[] = [
  {
    name: "list_boards",
    title: "List boards",
    description: "Lists the project's boards: pages of charts and numbers.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({}),
    output: BoardList,
    run: (api) => api("/api/boards"),
  },
  {
    name: "get_board",
    title: "Get a board",
    description:
      "Returns a board's tiles, with the searches and metrics that event_stats, funnel and retention take.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({ id: z.string().describe("The board's id") }),
    output: BoardResponse,
    run: (api, { id }) => api(`/api/boards/${segmentOf(id)}`),
  },
  {
    name: "list_marks",
    title: "List marks on charts",
    description:
      "Lists what charts mark in a range, oldest first: deployments and other events that the project chose, and notes of its members. Tells why a number may have changed.",
    permission: "annotations:read",
    isReadOnly: true,
    input: z.object({
      from: filters.from.optional(),
      to: filters.to.optional(),
      timeZone,
      board: z.string().optional().describe("A board's id, to include its own notes"),
    }),
    output: MarkList,
    run: (api, values) => api(withQuery("/api/annotations/marks", values)),
  },
  {
    name: "list_reports",
    title: "List reports",
    description:
      "Lists the boards that are sent on a schedule to the project's destinations: when each is due, and how it was sent last.",
    permission: "reports:read",
    isReadOnly: true,
    input: z.object({}),
    output: ReportList,
    run: (api) => api("/api/reports"),
  },
];
