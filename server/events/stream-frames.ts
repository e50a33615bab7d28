import { type ArrivalStamp, stampToken } from "../event/id.ts";

const retryMs = 1_000;

const encoder = new TextEncoder();
/** An event rather than a comment, which browsers hide from pages. It tells a quiet stream from a dead connection. */
export const heartbeat = encoder.encode("event: heartbeat\ndata: {}\n\n");

/** The first message. Its `retry` makes browsers reconnect after one second rather than three. */
export function readyFrame(id: ArrivalStamp): Uint8Array {
  return Buffer.concat([encoder.encode(`retry: ${retryMs}\n`), frameOf("ready", "{}", id)]);
}

export function frameOf(type: string, data: string, id?: ArrivalStamp): Uint8Array {
  return encoder.encode(`event: ${type}\n${id ? `id: ${stampToken(id)}\n` : ""}data: ${data}\n\n`);
}
