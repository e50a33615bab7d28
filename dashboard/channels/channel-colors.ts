import { hashOf } from "../components/hash.ts";
import { markColors, markShapes } from "../components/marks.ts";

export type ChannelColors = ReadonlyMap<string, number>;

const all = markColors * markShapes.length;
/** The clearest half of the colors, which is given away first. */
const firstColors = markColors / 2;

/**
 * Gives each channel a color with a shape, from 0 to 23. It is the one that the name suggests, or else the next one that
 * fewer channels have, so the first eight channels differ in color and the first 24 differ. Channels that come later
 * change nothing.
 *
 * @param ids - in the order of creation
 */
export function assignChannelColors(ids: Iterable<string>, known: ChannelColors = new Map()): ChannelColors {
  const colors = new Map(known);
  const uses = new Array<number>(markColors).fill(0);
  for (const color of colors.values()) uses[color % markColors]!++;
  for (const id of ids) {
    if (colors.has(id)) continue;
    const least = Math.min(...uses);
    const isFirstFull = uses.slice(0, firstColors).every((count) => count > least);
    const start = isFirstFull ? firstColors : 0;
    let color = start + suggestedColor(id);
    while (uses[color]! > least) color = start + ((color - start + 1) % firstColors);
    colors.set(id, (color + markColors * uses[color]!) % all);
    uses[color]!++;
  }
  return colors;
}

/** The color of a channel that isn't listed yet. */
export function suggestedColor(id: string): number {
  return hashOf(id) % firstColors;
}
