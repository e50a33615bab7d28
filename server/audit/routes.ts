import { cellOf } from "../event/csv.ts";
import { acceptedForm, type EventForm, mediaTypes } from "../event/event-form.ts";
import type { Routes } from "../http/routes.ts";
import { textResponse } from "../http/text-response.ts";
import { limits } from "../limits.ts";
import type { Store } from "../storage/store.ts";
import { type AuditEntry, AuditList, AuditQuery } from "../wire/audit.ts";
import { listAudit } from "./audit-log.ts";

export function addAuditRoutes(routes: Routes, { store }: { store: Store }): void {
  routes.add(
    {
      method: "get",
      path: "/api/audit",
      by: "audit:read",
      tag: "Audit log",
      summary: "List the audit log, newest first",
      description:
        "Who did what in the project, and when its members signed in. Without `limit`, streams all entries. With `limit`, returns a page and the `nextCursor` of the next one; for NDJSON and CSV the cursor is in the `x-next-cursor` header.",
      query: AuditQuery,
      answer: AuditList,
      otherAnswerTypes: [mediaTypes.ndjson, mediaTypes.csv],
    },
    async ({ projectId, query, request }) => {
      const form = query.format ?? acceptedForm(request.headers.get("accept"));
      const headers = new Headers({ "content-type": mediaTypes[form], vary: "accept" });
      if (query.format !== undefined && form !== "json") {
        headers.set("content-disposition", `attachment; filename="audit.${form}"`);
      }
      const before = query.cursor === undefined ? undefined : Number(query.cursor);
      const { limit } = query;
      const { control } = store;
      if (limit === undefined) {
        const entries = (after?: number) =>
          listAudit(control, projectId, query, limits.pageAuditEntries, after ?? before);
        return new Response(streamOf(form, entries), { headers });
      }
      const entries = await listAudit(control, projectId, query, limit + 1, before);
      const page = entries.slice(0, limit);
      const nextCursor = entries.length > limit ? page.at(-1)!.id : null;
      if (nextCursor !== null && form !== "json") headers.set("x-next-cursor", nextCursor);
      const text = startOf(form) + page.map(rowOf[form]).join(separatorOf(form)) + endOf(form, nextCursor);
      return textResponse(request, text, { headers });
    },
  );
}

/** Streams all entries, a page at a time. Nothing is read before the client has taken the page before. */
function streamOf(form: EventForm, read: (after?: number) => Promise<AuditEntry[]>): ReadableStream<string> {
  let after: number | undefined;
  return new ReadableStream<string>(
    {
      start: (stream) => stream.enqueue(startOf(form)),
      async pull(stream) {
        const entries = await read(after);
        if (entries.length > 0) {
          const separator = separatorOf(form);
          stream.enqueue((after === undefined ? "" : separator) + entries.map(rowOf[form]).join(separator));
          after = Number(entries.at(-1)!.id);
        }
        if (entries.length === limits.pageAuditEntries) return;
        stream.enqueue(endOf(form, null));
        stream.close();
      },
    },
    { highWaterMark: 0 },
  );
}

const startOf = (form: EventForm) => ({ json: '{"ok":true,"entries":[', ndjson: "", csv: csvHeader })[form];
const separatorOf = (form: EventForm) => (form === "json" ? "," : "");
const endOf = (form: EventForm, nextCursor: string | null) =>
  form === "json" ? `],"nextCursor":${JSON.stringify(nextCursor)}}` : "";

const csvHeader = "id,createdAt,action,actorKind,actor,target,detail,address,userAgent\r\n";

const rowOf: Record<EventForm, (entry: AuditEntry) => string> = {
  json: (entry) => JSON.stringify(entry),
  ndjson: (entry) => `${JSON.stringify(entry)}\n`,
  csv: ({ id, createdAt, action, actor, target, detail, address, userAgent }) => {
    const texts = [actor.name, target, JSON.stringify(detail), address, userAgent];
    const cells = texts.map((text) => cellOf(text ?? ""));
    return `${id},${createdAt},${action},${actor.kind},${cells.join(",")}\r\n`;
  },
};
