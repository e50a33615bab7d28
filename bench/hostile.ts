import { gzipSync } from "node:zlib";

/** A body of at most a megabyte, designed to cost the server more than its sender. */
export type HostileBody = {
  name: string;
  headers: Record<string, string>;
  make: () => Uint8Array<ArrayBuffer>;
};

const megabyte = 1_000_000;

const json = { "content-type": "application/json" };
const lines = { "content-type": "application/x-ndjson" };
const gzipped = { "content-encoding": "gzip" };
const once = { "idempotency-key": "hostile" };

const event = '{"channel":"c","name":"n"}';
const wrongEvent = '{"channel":1,"name":2,"userId":3,"icon":4,"notify":5,"tags":6,"id":7,"createdAt":8}';

const nestedArrays = `[${"[],".repeat(570)}[]],`;
const nestedObjects = `{"a":[${"{},".repeat(570)}{}]},`;
const wrongTags = JSON.stringify({
  channel: 1,
  tags: Object.fromEntries(Array.from({ length: 180 }, (_, n) => [n, n])),
});
const chinese = JSON.stringify({ channel: "c", name: "n", description: "事件记录通知系统".repeat(1_250) });

/** The worst known bodies: a megabyte each, plain, or gzipped to unpack to as much as the server allows. */
export function hostileBodies(): HostileBody[] {
  const gzippedLines = { ...lines, ...gzipped };
  const gzippedJson = { ...json, ...gzipped };
  const keyed = { ...json, ...once };
  return [
    { name: "gzip of 16 MB of [, 16 kB", headers: gzippedJson, make: () => packedArray("[", "") },
    { name: "gzip of 1 GB of line ends", headers: gzippedLines, make: () => packedLines("\n") },
    { name: "gzip of line ends", headers: gzippedLines, make: () => paddedLines("\n") },
    { name: "gzip of lines {}", headers: gzippedLines, make: () => paddedLines("{}\n") },
    { name: "gzip of lines of events", headers: gzippedLines, make: () => paddedLines(`${event}\n`) },
    { name: "gzip of 16 MB of {}, 16 kB", headers: gzippedJson, make: () => packedArray("{},", "0") },
    { name: "gzip of [", headers: gzippedJson, make: () => paddedArray("[", "") },
    { name: "gzip of nested arrays", headers: gzippedJson, make: () => paddedArray(nestedArrays, "0") },
    { name: "gzip of nested objects", headers: gzippedJson, make: () => paddedArray(nestedObjects, "0") },
    {
      name: "gzip of large items",
      headers: gzippedJson,
      make: () => paddedArray(`"${"x".repeat(1_000_000)}",`, "0"),
    },
    { name: "gzip of wrong tags", headers: gzippedJson, make: () => paddedArray(`${wrongTags},`, "0") },
    { name: "gzip of Chinese", headers: gzippedJson, make: () => paddedArray(`${chinese},`, "0") },
    { name: "line ends", headers: lines, make: () => filled("", "\n", "") },
    { name: "lines {}", headers: lines, make: () => filled("", "{}\n", "") },
    { name: "lines of wrong events", headers: lines, make: () => filled("", `${wrongEvent}\n`, "") },
    {
      name: "lines of bytes that are not UTF-8",
      headers: lines,
      make: () => filled("", Buffer.from([0xff, 10]), ""),
    },
    { name: "lines of events", headers: lines, make: () => filled("", `${event}\n`, "") },
    { name: "lines of Chinese", headers: lines, make: () => filled("", `${chinese}\n`, "") },
    { name: "[", headers: json, make: () => filled("", "[", "") },
    { name: '{"a":', headers: json, make: () => filled("", '{"a":', "") },
    {
      name: "nesting in a tag",
      headers: json,
      make: () => nested('{"channel":"c","name":"n","tags":{"a":', "}}"),
    },
    { name: "array of {}", headers: json, make: () => filled("[", "{},", "{}]") },
    { name: "array of 10,000 wrong events", headers: json, make: () => array(wrongEvent, 10_000) },
    { name: "array of 10,000 wrong events, once", headers: keyed, make: () => array(wrongEvent, 10_000) },
    { name: "array of 10,000 events, once", headers: keyed, make: () => array(event, 10_000) },
    { name: "array of Chinese", headers: json, make: () => filled("[", `${chinese},`, `${event}]`) },
    { name: "array of Chinese, once", headers: keyed, make: () => filled("[", `${chinese},`, `${event}]`) },
    { name: "one huge text", headers: json, make: () => filled('{"channel":"c","name":"', "x", '"}') },
    {
      name: "one huge text of escapes",
      headers: json,
      make: () => filled('{"channel":"c","name":"', "\\u0041", '"}'),
    },
    {
      name: "one huge text of emoji",
      headers: json,
      make: () => filled('{"channel":"c","name":"', "💰", '"}'),
    },
    { name: "a number of 1 MB", headers: json, make: () => filled('{"channel":"c","name":', "9", "}") },
    { name: "one member again and again", headers: json, make: () => filled("{", '"a":1,', '"a":1}') },
    { name: "different tags", headers: json, make: () => differentTags() },
    { name: "bytes that are not UTF-8", headers: json, make: () => filled("", Buffer.from([0xff]), "") },
  ];
}

/** A megabyte: the start, as many units as fit, and the end. */
function filled(start: string, unit: string | Uint8Array, end: string): Uint8Array<ArrayBuffer> {
  const [head, body, tail] = [Buffer.from(start), Buffer.from(unit), Buffer.from(end)];
  const times = Math.floor((megabyte - head.length - tail.length) / body.length);
  return concat(head, Buffer.alloc(times * body.length, body), tail);
}

function nested(start: string, end: string): Uint8Array<ArrayBuffer> {
  const levels = (megabyte - start.length - end.length - 1) >> 1;
  return concat(Buffer.from(start), Buffer.alloc(levels, "["), Buffer.alloc(levels, "]"), Buffer.from(end));
}

function differentTags(): Uint8Array<ArrayBuffer> {
  const tags = Object.fromEntries(
    Array.from({ length: 60_000 }, (_, n) => [n.toString(36).padStart(5, "k"), "v"]),
  );
  return concat(Buffer.from(JSON.stringify({ channel: "c", name: "n", tags })));
}

function array(item: string, items: number): Uint8Array<ArrayBuffer> {
  return concat(Buffer.from(`[${Array(items).fill(item).join(",")}]`));
}

function concat(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts));
}

/** A gzipped array of 16 MB, the maximum for arrays, of one repeated unit. */
function packedArray(unit: string, last: string): Uint8Array<ArrayBuffer> {
  return packedArrayWith(new Uint8Array(), unit, last);
}

/** The same after incompressible white space, so that it unpacks to about 80 times its size. */
function paddedArray(unit: string, last: string): Uint8Array<ArrayBuffer> {
  return packedArrayWith(noise(640_000), unit, last);
}

function packedArrayWith(padding: Uint8Array, unit: string, last: string): Uint8Array<ArrayBuffer> {
  const item = Buffer.from(unit);
  const times = Math.floor((16 * 1_048_576 - padding.length - last.length - 2) / item.length);
  const items = Buffer.alloc(times * item.length, item);
  const parts = [padding, Buffer.from("["), items, Buffer.from(`${last}]`)];
  return new Uint8Array(gzipSync(Buffer.concat(parts), { level: 9 }));
}

/** A gigabyte of a unit in a megabyte, as several concatenated gzip members. */
function packedLines(unit: string): Uint8Array<ArrayBuffer> {
  const part = gzipSync(Buffer.alloc(100 * megabyte, unit), { level: 9 });
  return concat(...Array<Uint8Array>(10).fill(part));
}

/** Lines that unpack to about 90 MB. */
function paddedLines(unit: string): Uint8Array<ArrayBuffer> {
  const lines = Buffer.alloc(Math.floor((80 * megabyte) / unit.length) * unit.length, unit);
  return new Uint8Array(gzipSync(Buffer.concat([noise(3_400_000), lines])));
}

/** Deterministic, incompressible white space. */
function noise(bytes: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length: bytes }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return [0x20, 0x09, 0x0a, 0x0d][state >>> 30]!;
  });
}
