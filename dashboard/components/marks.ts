export const markColors = 8;

/**
 * The shapes of marks, in a box of 8 by 8: full square, divided circle, pierced diamond. Charts fill areas in the same
 * three ways.
 */
export const markShapes = [
  "M2 0h4a2 2 0 0 1 2 2v4a2 2 0 0 1-2 2H2a2 2 0 0 1-2-2V2a2 2 0 0 1 2-2z",
  "M.07 3.3a4 4 0 0 1 7.86 0zM.07 4.7a4 4 0 0 0 7.86 0z",
  "M4-.4 8.4 4 4 8.4-.4 4zM4 2.6 2.6 4 4 5.4 5.4 4z",
] as const;

/** The shape of a color from 0 to 23: those from 8 on have the colors again, those from 16 on once more. */
export function shapeOf(color: number): (typeof markShapes)[number] {
  return markShapes[Math.floor(color / markColors) % markShapes.length]!;
}
