import { dataHeaders } from "../core/problems.ts";
import type { DuplicateResponse, Event } from "../event/event.ts";
import type { ProjectAccess } from "../http/caller.ts";

/** The event's JSON as listings return it, and whether it is new. */
export type Recorded = { json: string; isNew: boolean };

/** CORS headers as in app.ts, whose `cors` doesn't apply here. */
export const responseHeaders = {
  "content-type": "application/json",
  ...dataHeaders,
  "access-control-allow-origin": "*",
};
/** Headers of a replayed response. */
export const replayedHeaders = {
  ...responseHeaders,
  "access-control-expose-headers": "idempotent-replayed",
  "idempotent-replayed": "true",
};

const created = { status: 201, headers: responseHeaders };
const existing = { status: 200, headers: responseHeaders };

/**
 * The response to one event: 201, or 200 if it was stored before. Who may not read events gets only the id of one that
 * was: it may be somebody else's.
 */
export function eventResponse(
  { json, isNew }: Recorded,
  { mayRead }: Pick<ProjectAccess, "mayRead">,
  headers?: Record<string, string>,
): Response {
  const init = isNew ? created : existing;
  const text = isNew || mayRead ? `{"ok":true,"event":${json}}` : duplicateText(json);
  return new Response(text, headers ? { ...init, headers } : init);
}

function duplicateText(json: string): string {
  const { id } = JSON.parse(json) as Event;
  return JSON.stringify({ ok: true, duplicate: true, event: { id } } satisfies DuplicateResponse);
}
