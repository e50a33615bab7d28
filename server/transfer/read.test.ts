import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { parse } from "csv-parse";
import fc from "fast-check";
import { openInput } from "../commands/transfer/open-input.ts";
import { readCsv } from "./read-csv.ts";
import { readJson } from "./read-json.ts";
import type { SourceRecord } from "./source-record.ts";

/** The records of a text that arrives in pieces of a number of bytes. */
async function recordsOf(text: string, pieceBytes: number, read = readJson): Promise<SourceRecord[]> {
  const bytes = Buffer.from(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  return (await Array.fromAsync(read(pieces()))).flat();
}

test("lines and arrays have the same records, however they are cut and formatted", async () => {
  const records = fc.array(fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue({ maxDepth: 2 })));
  await fc.assert(
    fc.asyncProperty(
      records,
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(0, 2),
      async (values, size, indent) => {
        const lines = values.map((value) => `${JSON.stringify(value)}\n`).join("\n");
        const array = `\ufeff ${JSON.stringify(values, null, indent)}\n`;
        for (const text of [lines, array])
          expect(JSON.stringify((await recordsOf(text, size)).map(({ value }) => value))).toBe(
            JSON.stringify(values),
          );
      },
    ),
    { numRuns: 50 },
  );
});

test("what can't be read is told with its line", async () => {
  const lines = await recordsOf('{"a":1}\n\n{"a":\n[1]\n', 3);
  expect(lines.map(({ number, line, fault }) => [number, line, fault !== undefined])).toEqual([
    [1, 1, false],
    [2, 3, true],
    [3, 4, false],
  ]);
  const items = await recordsOf('[\n{"a":1},\n\n{"a":\n tru},{"b":2}\n,]', 4);
  expect(items.map(({ line, text, fault }) => [line, text, fault !== undefined])).toEqual([
    [2, '{"a":1}', false],
    [4, '{"a":  tru}', true],
    [5, '{"b":2}', false],
  ]);
  await expect(recordsOf('[{"a":1},{"a"', 4)).rejects.toThrow("cut off after record 1");
  await expect(recordsOf("[1] [2]", 4)).rejects.toThrow("Something follows the array");
  expect((await recordsOf('{\n"a":1\n}', 4))[0]!.fault).toContain("jq -c");
});

test("CSV with commas, semicolons or tabs, and lines that break inside cells", async () => {
  for (const separator of [",", ";", "\t"]) {
    const text = ['a,"b"', '1,"two\nlines"', "3", "4,5"].join("\r\n").replaceAll(",", separator);
    const records = await recordsOf(text, 5_000, (input) => readCsv(input, parse, () => {}));
    expect(records.map(({ line, value, fault }) => [line, value, fault !== undefined])).toEqual([
      [2, { a: "1", b: "two\nlines" }, false],
      [4, { a: "3", b: "" }, true],
      [5, { a: "4", b: "5" }, false],
    ]);
  }
});

test("gzip and zstd are known by their content; damage and archives are told", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidings-input-"));
  const file = join(folder, "events");
  const read = async (bytes: Uint8Array) => {
    writeFileSync(file, bytes);
    return Buffer.concat(await Array.fromAsync(openInput(file))).toString();
  };
  const text = "a line\n".repeat(1_000);
  const gzip = Bun.gzipSync(text);
  expect(await read(Buffer.from(text))).toBe(text);
  expect(await read(Buffer.concat([gzip, gzip]))).toBe(text + text);
  expect(await read(zstdCompressSync(text))).toBe(text);
  expect(await read(Buffer.from("a"))).toBe("a");
  await expect(read(gzip.subarray(0, 30))).rejects.toThrow("is cut off or damaged");
  await expect(read(Buffer.from("PK\u0003\u0004"))).rejects.toThrow("Unpack it");
  rmSync(folder, { recursive: true });
});
