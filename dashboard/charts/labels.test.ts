import { afterAll, beforeAll, describe, expect, test } from "bun:test";

// Before the import, because formats take the zone when they are made. In Berlin, March 29, 2026 has 23 hours and
// October 25 has 25.
process.env.TZ = "Europe/Berlin";
const { bucketLabel, tickLabels, ticksOf } = await import("./labels.ts");
const { formatDate } = await import("../components/dates.ts");
const { setZone } = await import("../components/zone.ts");
// Another test file may have loaded it before, with this machine's zone.
beforeAll(() => setZone("Europe/Berlin"));
afterAll(() => setZone(null));

const at = (text: string) => new Date(text).getTime();
/** Writes the hours in braces as this machine's clock does. */
const written = (text: string) =>
  text.replaceAll(/\{(\d\d:\d\d)\}/g, (_, clock) => formatDate(`2026-11-22T${clock}`, "clock"));

describe("a bucket's label", () => {
  test.each([
    ["2026-11-22T14:00", "2026-11-22T14:15", "Nov 22, {14:00} – {14:15}"],
    ["2026-11-22T23:00", "2026-11-23T00:00", "Nov 22, {23:00} – {00:00}"],
    ["2026-11-22T18:00", "2026-11-23T06:00", "Nov 22, {18:00} – Nov 23, {06:00}"],
    ["2026-11-22T00:00", "2026-11-23T00:00", "Nov 22, 2026"],
    ["2026-03-29T00:00", "2026-03-30T00:00", "Mar 29, 2026"],
    ["2026-10-25T00:00", "2026-10-26T00:00", "Oct 25, 2026"],
    ["2026-10-19T00:00", "2026-10-26T00:00", "Oct 19 – Oct 25, 2026"],
  ])("from %s to %s is %s", (start, end, label) => {
    expect(bucketLabel(at(start), at(end))).toBe(written(label));
  });
});

test("days have no ticks between them, also where the clock changes", () => {
  const ticks = ["2026-10-25T00:00", "2026-10-25T12:00", "2026-10-26T00:00"].map(at);
  expect(ticksOf(ticks, 86_400_000)).toEqual([ticks[0]!, null, ticks[2]!]);
  expect(ticksOf(ticks, 23 * 3_600_000)).toEqual([ticks[0]!, null, ticks[2]!]);
  expect(ticksOf(ticks, 6 * 3_600_000)).toEqual(ticks);
  expect(tickLabels([ticks[0]!, null], 43_200_000)).toEqual(["Oct 25", null]);
});

test("ticks show the day at midnight, and the year in January", () => {
  const hours = [at("2026-11-22T18:00"), at("2026-11-23T00:00"), at("2026-11-23T06:00")];
  expect(tickLabels(hours, 6 * 3_600_000)).toEqual(["{18:00}", "Nov 23", "{06:00}"].map(written));
  const months = [at("2026-11-01T00:00"), at("2026-12-01T00:00"), at("2027-01-01T00:00")];
  expect(tickLabels(months, 30 * 86_400_000)).toEqual(["Nov 2026", "Dec", "Jan 2027"]);
});
