/**
 * Arrays in PostgreSQL's binary format (https://www.postgresql.org/docs/current/protocol-message-formats.html,
 * `array_send` in its source). In the text format, each quote and backslash of thousands of events would be escaped
 * here and unescaped there.
 */
import type { ArrivalStamp } from "../../event/id.ts";

const oids = { int4: 23, int8: 20, text: 25, uuid: 2_950, bytea: 17 } as const;
const headBytes = 20;

function arrayOf(type: keyof typeof oids, count: number, bytes: number): Buffer {
  const array = Buffer.allocUnsafe(headBytes + bytes);
  // Dimensions, has nulls, element type, number of elements, lower bound.
  for (const [index, value] of [1, 0, oids[type], count, 1].entries()) array.writeInt32BE(value, index * 4);
  return array;
}

/** `integer[]` */
export function integers(values: readonly number[]): Buffer {
  const array = arrayOf("int4", values.length, values.length * 8);
  let at = headBytes;
  for (const value of values) {
    array.writeInt32BE(4, at);
    array.writeInt32BE(value, at + 4);
    at += 8;
  }
  return array;
}

/** `bigint[]`, of whole numbers below 2^53 */
export function bigints(values: readonly number[]): Buffer {
  return longs(values, (value) => [Math.floor(value / 2 ** 32), value % 2 ** 32]);
}

/** `bigint[]` of arrival stamps, as in the column `arrival` */
export function arrivals(stamps: readonly ArrivalStamp[]): Buffer {
  return longs(stamps, ({ ms, sequence }) => [Math.floor(ms / 4_096), (ms % 4_096) * 2 ** 20 + sequence]);
}

function longs<Value>(values: readonly Value[], halves: (value: Value) => [number, number]): Buffer {
  const array = arrayOf("int8", values.length, values.length * 12);
  let at = headBytes;
  for (const value of values) {
    const [high, low] = halves(value);
    array.writeInt32BE(8, at);
    array.writeInt32BE(high, at + 4);
    array.writeUInt32BE(low < 0 ? low + 2 ** 32 : low, at + 8);
    at += 12;
  }
  return array;
}

/** `uuid[]` */
export function uuids(values: readonly string[]): Buffer {
  const array = arrayOf("uuid", values.length, values.length * 20);
  let at = headBytes;
  for (const value of values) {
    array.writeInt32BE(16, at);
    array.write(value.replaceAll("-", ""), at + 4, "hex");
    at += 20;
  }
  return array;
}

/** `bytea[]` */
export function bytes(values: readonly Uint8Array[]): Buffer {
  const array = arrayOf(
    "bytea",
    values.length,
    values.reduce((sum, { length }) => sum + 4 + length, 0),
  );
  let at = headBytes;
  for (const value of values) {
    array.writeInt32BE(value.length, at);
    array.set(value, at + 4);
    at += 4 + value.length;
  }
  return array;
}

/** `text[]` with nulls, or `bytea[]` of the texts in UTF-8 */
export function texts(values: readonly (string | null)[], type: "text" | "bytea" = "text"): Buffer {
  let bytes = 0;
  for (const value of values) bytes += 4 + (value === null ? 0 : Buffer.byteLength(value));
  const array = arrayOf(type, values.length, bytes);
  if (values.includes(null)) array.writeInt32BE(1, 4);
  let at = headBytes;
  for (const value of values) {
    const length = value === null ? -1 : array.write(value, at + 4);
    array.writeInt32BE(length, at);
    at += 4 + Math.max(length, 0);
  }
  return array;
}
