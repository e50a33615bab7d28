import type { ReportSection } from "../notifications/report-content.ts";
import type { TileOf } from "../schemas/tile.ts";
import type { TileDataOf } from "../schemas/tile-data.ts";
import { drawChart } from "./draw-chart.ts";
import { amountText, shareText } from "./report-amounts.ts";
import { stepTexts } from "./report-sections.ts";
import type { ComputedTile } from "./report-tiles.ts";
import { colors, lineThrough, rectangle, round, seriesColor, textAt } from "./svg.ts";

type Drawing = {
  title: string;
  /** The project and the period. */
  subtitle: string;
  timeZone: string;
  /** In their order, each with its texts. */
  tiles: readonly (ComputedTile & { section: ReportSection })[];
};
type DrawnTile = Drawing["tiles"][number];

/** In pixels. Pictures have twice as many, for sharp screens. */
const pictureWidth = 720;
/** Tiles below this are left out, which bounds the memory that a picture takes. */
const heightMax = 2_400;
const margin = 24;
const gap = 14;
const padding = 16;
const cardsInRow = 3;
const numberHeight = 112;
const chartHeight = 236;
const stepHeight = 40;

/** Draws the numbers, charts and funnels of a report as SVG; null if there are none. */
export function drawReport({ title, subtitle, timeZone, tiles }: Drawing): string | null {
  const cards: string[] = [];
  let y = 84;
  const rows = rowsOf(tiles.filter(isDrawn));
  if (rows.length === 0) return null;
  for (const row of rows) {
    const height = heightOf(row[0]!);
    if (y + height + margin > heightMax) break;
    const width = (pictureWidth - 2 * margin - gap * (row.length - 1)) / row.length;
    for (const [index, tile] of row.entries()) {
      const box = { x: margin + index * (width + gap), y, width, height };
      cards.push(
        rectangle(box.x, y, width, height, `rx="10" fill="${colors.card}" stroke="${colors.line}"`),
        drawTile(tile, box, timeZone),
      );
    }
    y += height + gap;
  }
  const height = y - gap + margin;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${pictureWidth}" height="${round(height)}">`,
    rectangle(0, 0, pictureWidth, height, `fill="${colors.page}"`),
    textAt(margin, 44, title, { size: 22, isStrong: true, width: pictureWidth - 2 * margin }),
    textAt(margin, 66, subtitle, { size: 13, color: colors.muted, width: pictureWidth - 2 * margin }),
    ...cards,
    "</svg>",
  ].join("");
}

type Box = { x: number; y: number; width: number; height: number };

function isDrawn({ data }: DrawnTile): boolean {
  if (data === null) return false;
  if (data.type === "funnel") return (data.steps[0]?.users ?? 0) > 0;
  return isNumber(data.type) || isChart(data.type);
}

const isNumber = (type: string) => type === "number" || type === "value";
const isChart = (type: string) => type === "line" || type === "area" || type === "bar";

/** Numbers that follow each other share rows: up to three in each, and about as many in all. */
function rowsOf(tiles: readonly DrawnTile[]): DrawnTile[][] {
  const runs: DrawnTile[][] = [];
  for (const tile of tiles) {
    const run = runs.at(-1);
    if (run && isNumber(run[0]!.data!.type) && isNumber(tile.data!.type)) run.push(tile);
    else runs.push([tile]);
  }
  return runs.flatMap((run) => {
    const inRow = Math.ceil(run.length / Math.ceil(run.length / cardsInRow));
    return Array.from({ length: Math.ceil(run.length / inRow) }, (_, row) =>
      run.slice(row * inRow, (row + 1) * inRow),
    );
  });
}

function heightOf({ data }: DrawnTile): number {
  if (data!.type === "funnel") return 2 * padding + 22 + data!.steps.length * stepHeight;
  return isNumber(data!.type) ? numberHeight : chartHeight;
}

function drawTile({ tile, data, before, section }: DrawnTile, box: Box, timeZone: string): string {
  const [left, width] = [box.x + padding, box.width - 2 * padding];
  const inside = { x: left, y: box.y + 44, width, height: box.height - 44 - 10 };
  if (isNumber(data!.type)) return drawNumber(section, sparkOf(data as NumberData), box);
  const title = textAt(left, box.y + 28, section.title, { size: 14, isStrong: true, width: width - 110 });
  if (data!.type === "funnel")
    return title + drawFunnel(stepTexts(tile as TileOf<"funnel">), data as TileDataOf<"funnel">, inside);
  const total = textAt(left + width, box.y + 28, section.value ?? "", {
    size: 14,
    isStrong: true,
    anchor: "end",
  });
  const chart = {
    tile: tile as TileOf<"line">,
    data: data as TileDataOf<"line">,
    before: before as TileDataOf<"line"> | null,
    timeZone,
  };
  return title + total + drawChart(chart, inside);
}

type NumberData = TileDataOf<"number"> | TileDataOf<"value">;

function sparkOf(data: NumberData): (number | null)[] {
  return data.type === "number" ? data.values : data.points.map(({ value }) => value);
}

function drawNumber(
  { title, value, change, note }: ReportSection,
  values: (number | null)[],
  box: Box,
): string {
  const [left, width] = [box.x + padding, box.width - 2 * padding];
  const text = value ?? note ?? "";
  // Long numbers are smaller, so that they fit.
  const size = Math.min(28, Math.max(14, (width / Math.max(1, text.length)) * 1.7));
  return [
    textAt(left, box.y + 26, title, { size: 12, color: colors.muted, width }),
    textAt(left, box.y + 58, text, { size: round(size), isStrong: true }),
    textAt(left, box.y + 76, change ?? "", { size: 10.5, color: colors.muted, width }),
    drawSpark(values, { x: left, y: box.y + 84, width, height: 18 }),
  ].join("");
}

function drawSpark(values: readonly (number | null)[], { x, y, width, height }: Box): string {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return "";
  const low = Math.min(0, ...known);
  const span = Math.max(...known) - low || 1;
  const points = values.map((value, index): [number, number] | null =>
    value === null
      ? null
      : [x + (index / (values.length - 1)) * width, y + height * (1 - (value - low) / span)],
  );
  return lineThrough(points, {
    ...{ color: seriesColor(0, false), width: 1.5, attributes: ` stroke-linejoin="round"` },
  });
}

function drawFunnel(names: readonly string[], { steps }: TileDataOf<"funnel">, { x, y, width }: Box): string {
  return steps
    .map(({ users, conversion }, index) => {
      const top = y + index * stepHeight;
      const share = conversion ?? 0;
      return [
        textAt(x, top + 12, names[index]!, { size: 12.5, width: width - 150 }),
        textAt(x + width, top + 12, `${amountText(users)} · ${shareText(share)}`, {
          size: 12.5,
          anchor: "end",
        }),
        rectangle(x, top + 19, width, 9, `rx="4.5" fill="${colors.line}"`),
        rectangle(x, top + 19, width * share, 9, `rx="4.5" fill="${seriesColor(0, false)}"`),
      ].join("");
    })
    .join("");
}
