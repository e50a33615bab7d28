import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countryLookup } from "./countries.ts";

const directory = mkdtempSync(join(tmpdir(), "tidings-countries-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Types of MaxMind's format (https://maxmind.github.io/MaxMind-DB). */
const text = (value: string) => [(2 << 5) | value.length, ...Buffer.from(value)];
const uint16 = (value: number) => [(5 << 5) | 2, value >> 8, value & 255];
const uint32 = (value: number) => [(6 << 5) | 4, 0, 0, value >> 8, value & 255];
const map = (entries: Record<string, number[]>) => [
  (7 << 5) | Object.keys(entries).length,
  ...Object.entries(entries).flatMap(([key, value]) => [...text(key), ...value]),
];

/** A database with one node: addresses of the lower half of IPv4 are Swedish, others are unknown. */
function databaseOf(country: string): Uint8Array {
  const nodes = 1;
  const separatorBytes = 16;
  const unknown = nodes;
  return Uint8Array.from([
    ...[0, 0, nodes + separatorBytes],
    ...[0, 0, unknown],
    ...new Array<number>(separatorBytes).fill(0),
    ...map({ country: map({ iso_code: text(country) }) }),
    ...[0xab, 0xcd, 0xef, ...Buffer.from("MaxMind.com")],
    ...map({
      node_count: uint32(nodes),
      record_size: uint16(24),
      ip_version: uint16(4),
      database_type: text("Country"),
      binary_format_major_version: uint16(2),
      binary_format_minor_version: uint16(0),
      build_epoch: uint32(1),
    }),
  ]);
}

test("a database decides, and what it doesn't know is found by the time zone", () => {
  const file = join(directory, "countries.mmdb");
  writeFileSync(file, databaseOf("SE"));
  const countryOf = countryLookup(file);
  const timeZone = "Europe/Berlin";
  expect(countryOf("81.2.69.160", timeZone)).toBe("SE");
  expect(countryOf("203.0.113.7", timeZone)).toBe("DE");
  expect(countryOf(null, timeZone)).toBe("DE");
});

test("a file of another kind is told with the setting's name", () => {
  const file = join(directory, "other.mmdb");
  writeFileSync(file, "<html>Not found</html>");
  expect(() => countryLookup(file)).toThrow(`TIDINGS_COUNTRY_DATABASE: ${file} is no database`);
});

test("a time zone is its own country's, by each of its names", () => {
  const countryOf = countryLookup(null);
  for (const [timeZone, country] of [
    ["Europe/Zurich", "CH"],
    ["Europe/Stockholm", "SE"],
    ["Asia/Bangkok", "TH"],
    ["Asia/Calcutta", "IN"],
    ["UTC", undefined],
    ["constructor", undefined],
    ["", undefined],
  ])
    expect([timeZone, countryOf("81.2.69.160", timeZone)]).toEqual([timeZone, country]);
  expect(countryOf(null, undefined)).toBeUndefined();
});
