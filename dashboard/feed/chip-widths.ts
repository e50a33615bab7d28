// Texts are measured on a canvas, because measuring them in the page would be too slow.

type Tags = readonly (readonly [key: string, value: string])[];

const chipsMax = 12;
/** A chip gets more than this only if all that fit beside it have room. */
const chipPxUsual = 190;
const chipPxMax = 420;
/** Its padding, its border and the gap between key and value. */
const chipAsidePx = 18;
const keyPxMax = 96;
const moreChipPx = 28;
const gapPx = 4;

type Chips = {
  /** How many of the tags fit. */
  count: number;
  /** The largest width of a chip, in pixels. */
  chipPx: number;
};

/** Computes how many chips fit into a width in pixels, and the width of each. */
export function chipsFor(tags: Tags, widthPx: number): Chips {
  let usedPx = 0;
  const widths: number[] = [];
  for (const tag of tags.slice(0, chipsMax)) {
    const chipPx = chipWidth(tag);
    const nextPx = usedPx + Math.min(chipPxUsual, chipPx) + gapPx;
    const restPx = widths.length + 1 < tags.length ? moreChipPx : 0;
    if (widths.length > 0 && nextPx + restPx > widthPx) break;
    usedPx = nextPx;
    widths.push(chipPx);
  }
  const sparePx = widthPx - usedPx - (widths.length < tags.length ? moreChipPx : 0);
  return { count: widths.length, chipPx: widened(widths, sparePx) };
}

/** The largest width of a chip for which all fit, if this much space remains at the usual width. */
function widened(widths: readonly number[], sparePx: number): number {
  const long = widths.filter((width) => width > chipPxUsual).sort((a, b) => a - b);
  let [chipPx, restPx] = [chipPxUsual, Math.max(0, sparePx)];
  for (const [index, width] of long.entries()) {
    const others = long.length - index;
    const morePx = Math.min(width - chipPx, restPx / others);
    chipPx += morePx;
    restPx -= morePx * others;
  }
  return Math.min(chipPxMax, Math.floor(chipPx));
}

/**
 * Positions where the tags of a row may begin, as shares of its width. The first is right of the middle, because people
 * click in the middle to open the event. The others are further left, for rows with no room for all tags. There are
 * few, so that the tags of most rows align.
 */
const starts = [11 / 19, 0.44, 0.3] as const;
const startPxMin = 150;
/** A long name leaves tags this share of the width. */
const tagsShare = 0.4;

type RowWidths = {
  /** The smallest and the largest width of the row's name and what belongs to it. */
  leadMin: number;
  leadMax: number;
  /** The width that is left for tags. */
  tags: number;
};

/**
 * Divides the width of a row's texts, in pixels.
 *
 * @param leadPx - the width that name, channel and user need
 */
export function rowWidths(textPx: number, leadPx: number, tags: Tags): RowWidths {
  const neededPx = chipsWidth(tags);
  const start = starts.find((share) => textPx * (1 - share) >= neededPx) ?? starts.at(-1)!;
  const leadMin = Math.max(startPxMin, Math.floor(textPx * start));
  const leadMax = Math.max(leadMin, Math.floor(textPx - Math.min(neededPx, textPx * tagsShare)));
  return { leadMin, leadMax, tags: textPx - Math.max(leadMin, Math.min(leadMax, leadPx)) };
}

/** The width in pixels of a row's name if nothing follows it but a time. */
export function usualLead(textPx: number): number {
  return Math.max(startPxMin, Math.floor(textPx * starts[0]));
}

/** The width in pixels of all chips side by side. */
function chipsWidth(tags: Tags): number {
  const shown = tags.slice(0, chipsMax).map((tag) => Math.min(chipPxMax, chipWidth(tag)) + gapPx);
  return shown.reduce((sum, width) => sum + width, tags.length > chipsMax ? moreChipPx : 0);
}

function chipWidth([key, value]: Tags[number]): number {
  return Math.min(keyPxMax, measured(key, chipFont)) + measured(value, chipFont) + chipAsidePx;
}

const chipFont = "12px";
/** Longer texts are cut anyway. */
const charactersMax = 300;
const knownMax = 5_000;
const known = new Map<string, number>();
let canvas: CanvasRenderingContext2D | null = null;

/**
 * The width in pixels of a text on one line.
 *
 * @param font - weight and size: "500 14px"
 */
export function measured(text: string, font: string): number {
  const key = `${font} ${text.slice(0, charactersMax)}`;
  let width = known.get(key);
  if (width === undefined) {
    canvas ??= document.createElement("canvas").getContext("2d")!;
    canvas.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
    // Rounded up, because digits are a little wider in the page.
    width = Math.ceil(canvas.measureText(key.slice(font.length + 1)).width) + 1;
    if (known.size >= knownMax) known.clear();
    known.set(key, width);
  }
  return width;
}
