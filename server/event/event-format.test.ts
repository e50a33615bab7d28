import { expect, test } from "bun:test";
import fc from "fast-check";
import { validEvent } from "../testing/arbitraries.ts";
import type { Event } from "./event.ts";
import { acceptedFormat, csvHeader, csvRow } from "./event-format.ts";

const cases: [accept: string | null, format: string][] = [
  [null, "json"],
  ["", "json"],
  ["*/*", "json"],
  ["text/csv", "csv"],
  ["TEXT/CSV", "csv"],
  ["text/*", "csv"],
  ["application/x-ndjson", "ndjson"],
  ["application/*", "json"],
  ["application/xml", "json"],
  ["text/csv, */*", "csv"],
  ["text/csv;q=0.5, application/x-ndjson;q=0.9", "ndjson"],
  ["text/csv;q=0.5, */*;q=0.1", "csv"],
  ["application/json;q=0.5, text/csv;q=0.4", "json"],
  ["text/csv;q=0, */*;q=0.1", "json"],
  ["application/json;q=0, */*;q=0.1", "ndjson"],
  ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "json"],
  ["application/json, text/plain, */*", "json"],
  [";;;q=,,", "json"],
];
for (const [accept, format] of cases) {
  test(`${JSON.stringify(accept)} gets ${format}`, () =>
    expect(acceptedFormat(accept)).toBe(format as ReturnType<typeof acceptedFormat>));
}

/** Parses CSV as RFC 4180 says. */
function read(csv: string): string[][] {
  const rows: string[][] = [[]];
  const cells = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  while (cells.lastIndex < csv.length) {
    const [, quoted, bare, end] = cells.exec(csv)!;
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? bare!);
    if (end === "\r\n") rows.push([]);
  }
  rows.pop();
  return rows;
}

test("every event's row parses to the same texts, except for formulas", () => {
  const [header] = read(csvHeader) as [string[]];
  fc.assert(
    fc.property(validEvent, ({ channel, userId = "", notify = false, tags = {}, ...texts }) => {
      const event: Event = { id: "i", createdAt: "2026", channelId: channel, userId, notify, tags, ...texts };
      const rows = read(csvRow(event));
      expect(rows).toHaveLength(1);
      expect(rows[0]).toHaveLength(header.length);
      for (const [index, column] of header.entries()) {
        const cell = rows[0]![index]!;
        const value = event[column as keyof Event] ?? "";
        if (column === "tags") expect(JSON.parse(cell)).toEqual(value);
        else if (/^'*[=+\-@\t\r\n＝＋－＠]/.test(String(value))) expect(cell).toBe(`'${value}`);
        else expect(cell).toBe(String(value));
        expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
      }
    }),
  );
});

test.each(["=1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠a"])(
  "%j starts no formula in any column",
  (text) => {
    const event: Event = {
      id: "i",
      createdAt: "2026",
      channelId: text,
      name: text,
      userId: text,
      icon: text,
      event: text,
      description: text,
      notify: false,
      tags: {},
    };
    const [row] = read(csvRow(event)) as [string[]];
    expect(row.filter((cell) => cell === `'${text}`)).toHaveLength(6);
  },
);
