import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { anyBody, eventMembers, validEvent } from "./arbitraries.ts";

/** A request to record events, with bytes that no client library would send. */
export type HostileRequest = { headers: Record<string, string>; body: Uint8Array<ArrayBuffer> };

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const json = (arbitrary: fc.Arbitrary<unknown>) => arbitrary.map((value) => JSON.stringify(value) ?? "");

/** JSON values that careless code mishandles. */
const trap = fc.constantFrom(
  "1e999",
  "-1e999",
  "1e-999",
  "-0",
  "123456789012345678901234567890",
  "0.1e+1",
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\/"',
  '"\ufeff"',
  '"\u2028\u2029"',
  "null",
  "[]",
  "{}",
  '{"__proto__":{"polluted":"yes"}}',
  '{"constructor":{"prototype":{"polluted":"yes"}}}',
  '{"__proto__":"a","__proto__":"b"}',
  '{"":""}',
  '{"a":"1","a":"2"}',
  '{"toString":"x","hasOwnProperty":"x"}',
  '{"length":"1","0":"a"}',
);
const member = fc.constantFrom(...eventMembers, "__proto__", "constructor", "toJSON", "");

/** A valid event with further members at the end, some of them duplicates. */
const trapped = fc
  .tuple(validEvent, fc.array(fc.tuple(member, trap), { minLength: 1, maxLength: 3 }))
  .map(
    ([event, traps]) =>
      `${JSON.stringify(event).slice(0, -1)}${traps.map(([name, value]) => `,${JSON.stringify(name)}:${value}`).join("")}}`,
  );

const deep = fc
  .tuple(fc.constantFrom(100, 5_000, 100_000), fc.constantFrom("[", '{"a":'), fc.boolean(), member)
  .map(([levels, open, isClosed, name]) => {
    const value = `${open.repeat(levels)}1${isClosed ? (open === "[" ? "]" : "}").repeat(levels) : ""}`;
    return name === "" ? value : `{"channel":"a","name":"n",${JSON.stringify(name)}:${value}}`;
  });

const huge = fc
  .tuple(fc.constantFrom(100_000, 1_048_500, 1_200_000), fc.constantFrom("x", " ", "💰", "\\u0000", ',"a":1'))
  .map(([length, unit]) => {
    const filling = unit.repeat(length / unit.length);
    return unit.startsWith(",") ? `{"a":1${filling}}` : `{"channel":"a","name":"${filling}"}`;
  });

const list = fc.array(fc.oneof({ weight: 3, arbitrary: json(validEvent) }, trapped, json(anyBody)), {
  maxLength: 8,
});

const text = fc.oneof(
  { weight: 30, arbitrary: json(validEvent) },
  { weight: 30, arbitrary: json(anyBody) },
  { weight: 20, arbitrary: trapped },
  { weight: 10, arbitrary: list.map((events) => `[${events.join(",")}]`) },
  { weight: 10, arbitrary: list.map((events) => events.join("\n")) },
  { weight: 5, arbitrary: trap },
  { weight: 5, arbitrary: fc.string({ unit: "binary", maxLength: 50 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom("", " ", "\0", "\ufeff", "\n\n", "undefined", "NaN", "{", "]", "'a'"),
  },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: huge },
);

const damaged = fc
  .tuple(text.map(bytes), fc.nat(), fc.constantFrom("cut", "byte", "mark", "null"))
  .map(([whole, place, damage]) => {
    const at = whole.length === 0 ? 0 : place % whole.length;
    const [before, after] = [whole.subarray(0, at), whole.subarray(at)];
    if (damage === "cut") return new Uint8Array(before);
    if (damage === "mark") return new Uint8Array(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), whole]));
    const extra = damage === "null" ? [0] : [0xc3, 0x28, 0xff];
    return new Uint8Array(Buffer.concat([before, Buffer.from(extra), after]));
  });

const type = fc.oneof(
  { weight: 12, arbitrary: fc.constant("application/json") },
  { weight: 3, arbitrary: fc.constant("application/x-ndjson") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "application/json; charset=utf-8",
      "application/vnd.a+json",
      "text/plain",
      "text/plain;charset=UTF-8",
      "application/json; charset=utf-16",
      "multipart/form-data",
      "x",
    ),
  },
);

/** Requests of every kind to record events: valid ones, almost valid ones, and attacks. */
export const hostileRequest: fc.Arbitrary<HostileRequest> = fc
  .tuple(
    fc.oneof({ weight: 6, arbitrary: text.map(bytes) }, { weight: 1, arbitrary: damaged }),
    type,
    fc.oneof(
      { weight: 12, arbitrary: fc.constant(null) },
      fc.constantFrom("gzip", "not gzip", "cut", "br", "gzip, gzip"),
    ),
  )
  .map(([body, contentType, encoding]) => {
    const headers: Record<string, string> = { "content-type": contentType };
    if (encoding === null) return { headers, body };
    headers["content-encoding"] = encoding === "br" || encoding.includes(",") ? encoding : "gzip";
    if (encoding === "not gzip") return { headers, body };
    const packed = new Uint8Array(gzipSync(body));
    return { headers, body: encoding === "cut" ? packed.subarray(0, packed.length / 2) : packed };
  });

/** A body of a few kilobytes that unpacks to this many megabytes. */
export function gzipBomb(megabytes: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(Buffer.alloc(megabytes * 1_048_576, " "), { level: 9 }));
}
