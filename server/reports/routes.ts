import { z } from "@hono/zod-openapi";
import { makeChange } from "../audit/changes.ts";
import { findBoard } from "../boards/boards.ts";
import { limits } from "../core/limits.ts";
import { permissionTexts } from "../core/permission-texts.ts";
import { keyMay, permissions, roleMay } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Access } from "../http/caller.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import {
  NewReport,
  ReportChange,
  ReportList,
  ReportPreviewQuery,
  ReportResponse,
} from "../schemas/report.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";
import { drawBoard } from "./report-renderer.ts";
import { periodBefore } from "./report-schedule.ts";
import { changeReport, createReport, deleteReport, findReport, listReports } from "./reports.ts";
import { sendReportNow } from "./send-report.ts";

type Deps = {
  store: Store;
  /** Null if email isn't configured. */
  mailer: object | null;
  reportWorker: { wake(): void };
  deliveryWorker: { wake(): void };
};

const tag = "Reports";
const pictureType = "image/png";

export function addReportRoutes(routes: Routes, { store, mailer, reportWorker, deliveryWorker }: Deps): void {
  const { control } = store;
  const testing = store.rateLimiter({
    name: "report-tests",
    points: limits.reportTestsPerHour,
    seconds: 3_600,
  });

  routes.add(
    {
      method: "get",
      path: "/api/reports",
      by: "reports:read",
      tag,
      summary: "List reports, oldest first",
      description: "Your own, and those to destinations of the project.",
      query: ProjectQuery,
      response: ReportList,
    },
    async (call) => ({ reports: await listReports(control, readerOf(call)) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/reports",
      by: "reports:own",
      tag,
      summary: "Create a report",
      description:
        "Sends a board by email to you, whose address must be confirmed, or to a destination of the project, which needs the role admin.",
      query: ProjectQuery,
      body: NewReport,
      status: 201,
      response: ReportResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { body } = call;
      const { accountId } = readerOf(call);
      if (body.destination !== null) checkManager(call);
      else if (accountId !== null && mailer === null)
        throw problem("report-unreachable", {
          detail: "This server sends no email. Whoever runs it can set SMTP_URL.",
        });
      const report = await makeChange(control, call, (change) =>
        createReport(change, body, accountId, Date.now()),
      );
      reportWorker.wake();
      return { report };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/reports/preview",
      operationId: "previewReport",
      by: "reports:read",
      tag,
      summary: "Draw the picture of a board's report",
      description: "A PNG of its numbers, charts and funnels in the last whole period.",
      query: ReportPreviewQuery,
      response: z.string(),
      responseType: pictureType,
      problems: [404, 409, 503],
    },
    async ({ projectId, query: { board: id, every, timeZone } }) => {
      const board = await findBoard(control, projectId, id);
      const { name: project } = await control
        .selectFrom("projects")
        .select("name")
        .where("id", "=", projectId)
        .executeTakeFirstOrThrow();
      const period = periodBefore(every, timeZone, Date.now());
      const png = await drawBoard(store, projectId, { board, project, ...period });
      if (!png)
        throw problem("report-empty", {
          detail: `The board "${board.name}" has no number, chart or funnel to draw.`,
        });
      return new Response(png, { headers: { "content-type": pictureType, "cache-control": "no-store" } });
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/reports/{id}",
      by: "reports:read",
      tag,
      summary: "Get a report",
      query: ProjectQuery,
      response: ReportResponse,
      problems: [404],
    },
    async (call) => ({ report: await findReport(control, readerOf(call), call.parameter("id")) }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/reports/{id}",
      by: "reports:own",
      tag,
      summary: "Change a report's schedule, or turn it on or off",
      query: ProjectQuery,
      versioned: "report",
      body: ReportChange,
      response: ReportResponse,
      problems: [404],
    },
    async (call) => {
      const { body, ifMatch } = call;
      const own = await findChangeable(call);
      const report = await makeChange(control, call, (change) =>
        changeReport(change, own, body, ifMatch, readerOf(call).accountId, Date.now()),
      );
      reportWorker.wake();
      return { report };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/reports/{id}",
      by: "reports:own",
      tag,
      summary: "Delete a report",
      description: "The addresses of its pictures end, too.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      const report = await findChangeable(call);
      await makeChange(control, call, (change) => deleteReport(change, report));
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/reports/{id}/send",
      operationId: "sendReport",
      by: "reports:own",
      tag,
      summary: "Send a report now",
      description: "As a test, which says so. It works for a report that is off, too.",
      query: ProjectQuery,
      response: ReportResponse,
      problems: [404, 409, 429],
    },
    async (call) => {
      const found = await findChangeable(call);
      await takePoint(testing, found.id, "tests of this report");
      const reader = readerOf(call);
      const report = await makeChange(control, call, async (change) => {
        await sendReportNow(change, found, reader.accountId, Date.now());
        return findReport(change.transaction, reader, found.id);
      });
      deliveryWorker.wake();
      return { report };
    },
  );

  async function findChangeable(call: Access & { parameter: (name: string) => string }) {
    const report = await findReport(control, readerOf(call), call.parameter("id"));
    if (report.destination !== null) checkManager(call);
    return report;
  }
}

function readerOf(access: Access) {
  return {
    projectId: access.projectId,
    accountId: access.by === "account" ? access.account.id : null,
  };
}

/** Throws `role-insufficient` for members who may not send boards to destinations. */
function checkManager(access: Access): void {
  const permission = "reports:manage";
  if (access.by === "key" ? keyMay(access, permission) : roleMay(access.role, permission)) return;
  throw problem("role-insufficient", {
    detail: `This needs the role ${permissions[permission].role}: ${permissionTexts[permission].toLowerCase()}.`,
  });
}
