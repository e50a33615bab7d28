import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { parse } from "csv-parse";
import fc from "fast-check";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { openInput } from "../commands/transfer/open-input.ts";
import { ParquetFile } from "../commands/transfer/parquet-file.ts";
import { checkEvent } from "../event/check-event.ts";
import type { Event } from "../event/event.ts";
import { csvHeader, csvHeaderWith, csvRow, csvRowWith } from "../event/event-format.ts";
import { TagCounts } from "../event/tag-counts.ts";
import { validEvent } from "../testing/arbitraries.ts";
import { converters } from "./formats.ts";
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

test("what an export writes, in any format, is the same events when it is read again", async () => {
  const nowMs = Date.now();
  // Beginnings that spreadsheets would run, with and without the apostrophe that guards them.
  const begun = fc
    .tuple(fc.constantFrom("", "'", "''", "=", "'=", "''+", "'＠", "-"), fc.constantFrom("", "1", "a,b", '"'))
    .map((parts) => parts.join(""));
  const made = fc.tuple(validEvent, fc.nat(), fc.option(begun), fc.option(begun)).map(
    ([{ channel, icon, description, ...sent }, ms, start, userId]): Event => ({
      userId: "",
      notify: false,
      tags: {},
      ...sent,
      id: Bun.randomUUIDv7(),
      name: start || sent.name,
      channelId: start || channel,
      ...(userId !== null && { userId }),
      // A cell can't tell an empty text from none.
      ...(icon && { icon }),
      ...(description && { description: `${start ?? ""}${description}` }),
      createdAt: new Date(nowMs - ms).toISOString(),
    }),
  );
  const events = fc.sample(made, 500);
  const asCsv = (input: AsyncGenerator<Uint8Array>) => readCsv(input, parse, () => {});
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join("");
  const read = {
    ndjson: await recordsOf(lines, 1_000),
    json: await recordsOf(JSON.stringify(events), 1_000),
    csv: await recordsOf(csvHeader + events.map(csvRow).join(""), 1_000, asCsv),
  };
  const counts = new TagCounts();
  for (const event of events) counts.add(event);
  const tagColumns = counts.columns();
  const withColumns = await recordsOf(
    csvHeaderWith(tagColumns) + events.map((event) => csvRowWith(event, tagColumns)).join(""),
    1_000,
    asCsv,
  );
  const sortedJson = (value: unknown) =>
    JSON.stringify(value, (_, inner) =>
      inner && typeof inner === "object" && !Array.isArray(inner)
        ? Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))
        : inner,
    );
  for (const [index, { channelId, ...event }] of events.entries()) {
    const row = withColumns[index]!.value as Record<string, unknown>;
    const imported = checkEvent(converters.csv(row, undefined).event, nowMs);
    // Only the order of tags is lost.
    expect(sortedJson(imported)).toBe(sortedJson(checkEvent({ ...event, channel: channelId }, nowMs)));
    const expected = checkEvent({ ...event, channel: channelId }, nowMs);
    for (const [format, records] of Object.entries(read)) {
      const { event } = converters[format === "csv" ? "csv" : "tidings"](
        records[index]!.value as Record<string, unknown>,
        undefined,
      );
      // Tags as JSON, because `toEqual` overlooks one that is named `__proto__`.
      const checked = checkEvent(event, nowMs);
      expect([format, checked, JSON.stringify(checked)]).toEqual([
        format,
        expected,
        JSON.stringify(expected),
      ]);
    }
  }
  const directory = mkdtempSync(join(tmpdir(), "tidings-read-"));
  const parquet = new ParquetFile(join(directory, "events.parquet"));
  for (const event of events) await parquet.add(event);
  await parquet.finish();
  const file = await asyncBufferFromFile(join(directory, "events.parquet"));
  const columns = { icon: null, event: null, description: null };
  expect((await parquetReadObjects({ file })).map((row) => JSON.stringify(row.tags))).toEqual(
    events.map(({ tags }) => JSON.stringify(tags)),
  );
  // This reader takes a byte order mark for none of the text.
  const unmarked = (event: Event) =>
    Object.fromEntries(
      Object.entries(event).map(([name, value]) => [
        name,
        typeof value === "string" ? value.replace(/^\ufeff/, "") : value,
      ]),
    );
  expect(await parquetReadObjects({ file })).toEqual(
    events.map((event) => ({ ...columns, ...unmarked(event), createdAt: new Date(event.createdAt) })),
  );
  rmSync(directory, { recursive: true });
});
