import { clsx } from "clsx";

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

export function shapeOf(color: number): (typeof markShapes)[number] {
  return markShapes[Math.floor(color / markColors) % markShapes.length]!;
}

/** A channel's mark: its color and shape (`channels/channel-colors.ts`). */
export function ChannelMark({ color, className }: { color: number; className?: string }) {
  return (
    <svg aria-hidden viewBox="0 0 8 8" className={clsx("size-2 shrink-0 overflow-visible", className)}>
      <path d={shapeOf(color)} fillRule="evenodd" fill={`var(--mark-${(color % markColors) + 1})`} />
    </svg>
  );
}
