import { limits } from "../core/limits.ts";

/**
 * The beginning of a ping's body as text; null if there is none. The rest is read and dropped, so that the sender isn't
 * interrupted.
 */
export async function readPingBody(request: Request): Promise<string | null> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of request.body ?? []) {
    if (length < limits.pingBytes) pieces.push(piece.subarray(0, limits.pingBytes - length));
    length += piece.length;
  }
  return textOf(Buffer.concat(pieces)) || null;
}

/** Text without control characters, which events can't have, and without a character that was cut in two. */
function textOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes, { stream: bytes.length >= limits.pingBytes });
  return text.replace(/(?![\t\n\r])\p{Cc}/gu, "");
}
