/**
 * An event's row stores its JSON without the beginning `{"id":"…",` and the end `,"createdAt":"…"}`. The row's other
 * columns contain both. That saves 70 bytes an event.
 */
const idLength = 36;
const headLength = '{"id":"",'.length + idLength;
const tailLength = ',"createdAt":""}'.length + "2026-01-01T00:00:00.000Z".length;

export function bodyOf(json: string): string {
  return json.slice(headLength, -tailLength);
}

export function idOf(json: string): string {
  return json.slice('{"id":"'.length, '{"id":"'.length + idLength);
}

/** `createdAt` in milliseconds since 1970. */
export function createdAtMsOf(json: string): number {
  return Date.parse(json.slice(-'2026-01-01T00:00:00.000Z"}'.length, -'"}'.length));
}

/** @param hexId - 32 lower-case hexadecimal digits */
export function eventJson(hexId: string, body: string, createdAtMs: number): string {
  return jsonOf(dashed(hexId), body, createdAtMs);
}

export function jsonOf(id: string, body: string, createdAtMs: number): string {
  return `{"id":"${id}",${body},"createdAt":"${new Date(createdAtMs).toISOString()}"}`;
}

export function dashed(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
