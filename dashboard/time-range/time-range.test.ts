import { afterAll, beforeAll, describe, expect, test } from "bun:test";

// Before the imports, because formats take the zone when they are made. In Berlin, March 29, 2026 has 23 hours and
// October 25 has 25.
process.env.TZ = "Europe/Berlin";
const { boundsOf, timeIn, timeQuery, withoutTime } = await import("./time-range.ts");
const { timeLabel } = await import("./time-label.ts");
const { formatDate } = await import("../components/dates.ts");
const { setZone } = await import("../components/zone.ts");
// Another test file may have loaded it before, with this machine's zone.
beforeAll(() => setZone("Europe/Berlin"));
afterAll(() => setZone(null));

const at = (text: string) => new Date(text).getTime();
const iso = (text: string) => new Date(text).toISOString();

describe("the time in a URL", () => {
  test.each([
    [{ range: "24h", q: "card" }, { range: "24h" }],
    [{ range: "24h", from: "2026-11-01T00:00:00Z" }, { range: "24h" }],
    [{ range: "2h", to: "2026-11-01T00:00:00Z" }, { to: "2026-11-01T00:00:00Z" }],
    [{ range: "toString" }, {}],
    [{ from: "yesterday", to: 5 }, {}],
    [
      { from: "2026-11-01T00:00:00Z", to: "2026-11-02T00:00:00+01:00" },
      { from: "2026-11-01T00:00:00Z", to: "2026-11-02T00:00:00+01:00" },
    ],
  ])("of %j is %j", (search, time) => {
    expect(timeIn(search)).toEqual(time as never);
  });

  test("is kept apart from other filters", () => {
    expect(withoutTime({ q: "card", range: "1h", from: "", to: "", "tag.to": "x" })).toEqual({
      q: "card",
      "tag.to": "x",
    });
  });
});

describe("a range", () => {
  test.each([
    ["1h", "2026-11-22T09:00", "2026-11-22T08:00"],
    // 24 hours are 24 hours, also on a day that has 23 or 25.
    ["24h", "2026-03-29T12:00", "2026-03-28T11:00"],
    ["24h", "2026-10-25T12:00", "2026-10-24T13:00"],
    // Days are days of the clock.
    ["7d", "2026-03-30T09:00", "2026-03-23T09:00"],
    ["7d", "2026-10-26T09:00", "2026-10-19T09:00"],
    ["30d", "2026-03-30T09:00", "2026-02-28T09:00"],
  ] as const)("of %s at %s begins at %s", (range, now, start) => {
    expect(boundsOf({ range }, at(now))).toEqual({ fromMs: at(start) });
    expect(timeQuery({ range }, at(now))).toEqual({ from: iso(start) });
  });

  test.each([
    ["today", "2026-03-29T12:00", "2026-03-29T00:00"],
    // A Sunday, in a week with 167 hours.
    ["week", "2026-03-29T12:00", "2026-03-23T00:00"],
    ["month", "2026-03-29T12:00", "2026-03-01T00:00"],
  ] as const)("%s at %s begins at %s, and goes on", (range, now, start) => {
    expect(boundsOf({ range }, at(now))).toEqual({ fromMs: at(start) });
  });

  test("yesterday is a whole day, of 23 hours in March", () => {
    const bounds = { fromMs: at("2026-03-29T00:00"), toMs: at("2026-03-30T00:00") };
    expect(boundsOf({ range: "yesterday" }, at("2026-03-30T08:00"))).toEqual(bounds);
    expect((bounds.toMs - bounds.fromMs) / 3_600_000).toBe(23);
  });

  test("days are those of the project's time zone, wherever the browser is", () => {
    const now = Date.parse("2026-11-22T20:00:00Z");
    setZone("Asia/Tokyo");
    try {
      expect(timeQuery({ range: "today" }, now)).toEqual({ from: "2026-11-22T15:00:00.000Z" });
      expect(timeQuery({ range: "week" }, now)).toEqual({ from: "2026-11-22T15:00:00.000Z" });
      const days = { from: "2026-11-15T15:00:00.000Z", to: "2026-11-22T15:00:00.000Z" };
      expect(timeLabel(days, now)).toBe("Nov 16 – Nov 22");
    } finally {
      setZone("Europe/Berlin");
    }
  });

  test("the API gets UTC, whatever offset the URL has", () => {
    expect(timeQuery({ from: "2026-11-02T00:00:00+01:00" }, 0)).toEqual({ from: "2026-11-01T23:00:00.000Z" });
  });
});

describe("the label", () => {
  const now = at("2026-11-22T15:00");
  const written = (text: string) =>
    text.replaceAll(/\{(\d\d:\d\d)\}/g, (_, clock) => formatDate(`2026-11-22T${clock}`, "clock"));
  test.each([
    [{}, "All time"],
    [{ range: "7d" }, "Last 7 days"],
    [{ to: iso("2026-11-20T14:00") }, "Until Nov 20, {14:00}"],
    [{ from: iso("2025-11-20T00:00") }, "Since Nov 20, 2025"],
    [{ from: iso("2026-11-20T14:00"), to: iso("2026-11-20T18:00") }, "Nov 20, {14:00} – {18:00}"],
    [{ from: iso("2026-10-25T00:00"), to: iso("2026-10-26T00:00") }, "Oct 25"],
    [{ from: iso("2026-10-19T00:00"), to: iso("2026-10-26T00:00") }, "Oct 19 – Oct 25"],
  ] as const)("of %j", (time, label) => {
    expect(timeLabel(time, now)).toBe(written(label));
  });

  test("has the calendar's words", () => {
    const words = (["today", "yesterday", "week", "month"] as const).map((range) =>
      timeLabel({ range }, now),
    );
    expect(words).toEqual(["Today", "Yesterday", "This week", "This month"]);
  });
});
