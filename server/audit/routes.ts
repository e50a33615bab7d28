import { limits } from "../core/limits.ts";
import { acceptedFormat, cellOf, type EventFormat, mediaTypes } from "../event/event-format.ts";
import type { Routes } from "../http/routes.ts";
import { textResponse } from "../http/text-response.ts";
import { type AuditEntry, AuditList, AuditQuery } from "../schemas/audit.ts";
import type { Store } from "../storage/store.ts";
import { listAudit } from "./audit-log.ts";

export function addAuditRoutes(routes: Routes, { store }: { store: Store }): void {
  routes.add(
    {
      method: "get",
      path: "/api/audit",
      operationId: "listAuditEntries",
      by: "audit:read",
      tag: "Audit log",
      summary: "List the audit log, newest first",
      description:
        "Who did what in the project, and when its members signed in. Without `limit`, streams all entries. With `limit`, returns a page and the `nextCursor` of the next one; for NDJSON and CSV the cursor is in the `x-next-cursor` header.",
      query: AuditQuery,
      response: AuditList,
      otherResponseTypes: [mediaTypes.ndjson, mediaTypes.csv],
    },
    async ({ projectId, query, request }) => {
      const format = query.format ?? acceptedFormat(request.headers.get("accept"));
      const headers = new Headers({ "content-type": mediaTypes[format], vary: "accept" });
      if (query.format !== undefined && format !== "json") {
        headers.set("content-disposition", `attachment; filename="audit.${format}"`);
      }
      const before = query.cursor === undefined ? undefined : Number(query.cursor);
      const { limit } = query;
      const { control } = store;
      if (limit === undefined) {
        const entries = (after?: number) =>
          listAudit(control, projectId, query, limits.pageItems, after ?? before);
        return new Response(streamOf(format, entries), { headers });
      }
      const entries = await listAudit(control, projectId, query, limit + 1, before);
      const page = entries.slice(0, limit);
      const nextCursor = entries.length > limit ? page.at(-1)!.id : null;
      if (nextCursor !== null && format !== "json") headers.set("x-next-cursor", nextCursor);
      const text =
        startOf(format) + page.map(rowOf[format]).join(separatorOf(format)) + endOf(format, nextCursor);
      return textResponse(request, text, { headers });
    },
  );
}

/** Streams all entries, a page at a time. Nothing is read before the client has taken the page before. */
function streamOf(
  format: EventFormat,
  read: (after?: number) => Promise<AuditEntry[]>,
): ReadableStream<string> {
  let after: number | undefined;
  return new ReadableStream<string>(
    {
      start: (stream) => stream.enqueue(startOf(format)),
      async pull(stream) {
        const entries = await read(after);
        if (entries.length > 0) {
          const separator = separatorOf(format);
          stream.enqueue((after === undefined ? "" : separator) + entries.map(rowOf[format]).join(separator));
          after = Number(entries.at(-1)!.id);
        }
        if (entries.length === limits.pageItems) return;
        stream.enqueue(endOf(format, null));
        stream.close();
      },
    },
    { highWaterMark: 0 },
  );
}

const startOf = (format: EventFormat) =>
  ({ json: '{"ok":true,"entries":[', ndjson: "", csv: csvHeader })[format];
const separatorOf = (format: EventFormat) => (format === "json" ? "," : "");
const endOf = (format: EventFormat, nextCursor: string | null) =>
  format === "json" ? `],"nextCursor":${JSON.stringify(nextCursor)}}` : "";

const csvHeader = "id,createdAt,action,actorKind,actor,target,detail,address,userAgent\r\n";

const rowOf: Record<EventFormat, (entry: AuditEntry) => string> = {
  json: (entry) => JSON.stringify(entry),
  ndjson: (entry) => `${JSON.stringify(entry)}\n`,
  csv: ({ id, createdAt, action, actor, target, detail, address, userAgent }) => {
    const texts = [actor.name, target, JSON.stringify(detail), address, userAgent];
    const cells = texts.map((text) => cellOf(text ?? ""));
    return `${id},${createdAt},${action},${actor.kind},${cells.join(",")}\r\n`;
  },
};
