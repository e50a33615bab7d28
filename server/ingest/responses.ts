import { dataHeaders } from "../problems.ts";
import type { Recorded } from "./record.ts";

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

/** The response to one event: 201, or 200 if it was stored before. */
export function eventResponse({ json, isNew }: Recorded, headers?: Record<string, string>): Response {
  const init = isNew ? created : existing;
  return new Response(`{"ok":true,"event":${json}}`, headers ? { ...init, headers } : init);
}
