/** Where a report's picture has its tiles, and what their lines show. */
import { expect, test } from "bun:test";
import type { TileDataOf } from "../schemas/tile-data.ts";
import { drawChart } from "./draw-chart.ts";
import { drawReport } from "./draw-report.ts";
import type { ComputedTile } from "./report-tiles.ts";

const times = { from: "2026-03-02T00:00:00.000Z", to: "2026-03-07T00:00:00.000Z", timeZone: "UTC" };
const starts = [2, 3, 4, 5, 6].map((day) => `2026-03-0${day}T00:00:00.000Z`);
const place = { title: "", x: 0, y: 0, w: 4, h: 4 };

test("numbers share a row, of sessions too", () => {
  const data: TileDataOf<"number"> = {
    ...times,
    type: "number",
    by: "day",
    starts,
    value: 5,
    values: [1, 1, 1, 1, 1],
  };
  const tiles: ComputedTile["tile"][] = [
    { id: "a", type: "number", ...place, q: "", metric: "events" },
    {
      id: "b",
      type: "sessions",
      ...place,
      q: "",
      activity: "",
      split: "tag.path",
      show: "sessions",
      limit: 10,
    },
    {
      id: "c",
      type: "sessions",
      ...place,
      q: "",
      activity: "",
      split: "tag.path",
      show: "bounceRate",
      limit: 10,
    },
  ];
  const picture = drawReport({
    ...{ title: "Shop", subtitle: "A week", timeZone: "UTC" },
    tiles: tiles.map((tile) => ({
      ...{ tile, data, before: null, problem: null },
      section: { title: tile.id, value: "5" } as never,
    })),
  })!;
  const cards = [...picture.matchAll(/<rect x="([\d.]+)" y="([\d.]+)"[^>]* rx="10"/g)];
  expect(new Set(cards.map(([, x]) => x)).size).toBe(3);
  expect(new Set(cards.map(([, , y]) => y)).size).toBe(1);
});

test("values between gaps are dots", () => {
  const dotsOf = (values: (number | null)[]) => {
    const chart = drawChart(
      {
        tile: { id: "a", type: "line", ...place, q: "", metric: "average", tag: "price", limit: 5 },
        data: {
          ...times,
          type: "line",
          by: "day",
          starts,
          series: [{ value: null, total: 2, values }],
          total: 2,
          values,
        },
        ...{ before: null, timeZone: "UTC" },
      },
      { x: 0, y: 0, width: 400, height: 200 },
    );
    return [...chart.matchAll(/<circle/g)].length;
  };
  expect(dotsOf([1, null, 2, null, 3])).toBe(3);
  expect(dotsOf([1, 2, null, 3, null])).toBe(1);
  expect(dotsOf([1, 2, 3, 4, 5])).toBe(0);
  expect(dotsOf([null, null, 2, null, null])).toBe(1);
});
