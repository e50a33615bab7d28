import { dataHeaders } from "../problems.ts";
import type { Recorded } from "./record.ts";

/** As `cors` in app.ts says for the routes that the router serves. */
export const answerHeaders = {
  "content-type": "application/json",
  ...dataHeaders,
  "access-control-allow-origin": "*",
};
/** Of an answer that is given again. */
export const replayedHeaders = {
  ...answerHeaders,
  "access-control-expose-headers": "idempotent-replayed",
  "idempotent-replayed": "true",
};

const createdAnswer = { status: 201, headers: answerHeaders };
const knownAnswer = { status: 200, headers: answerHeaders };

/** The answer to one event: 201, or 200 where it was here before. */
export function eventResponse({ json, isNew }: Recorded, headers?: Record<string, string>): Response {
  const plain = isNew ? createdAnswer : knownAnswer;
  return new Response(`{"ok":true,"event":${json}}`, headers ? { ...plain, headers } : plain);
}
