import { clsx } from "clsx";
import { markColors, shapeOf } from "./marks.ts";

/** A channel's mark: its color and shape (`channels/channel-colors.ts`). */
export function ChannelMark({ color, className }: { color: number; className?: string }) {
  return (
    <svg aria-hidden viewBox="0 0 8 8" className={clsx("size-2 shrink-0 overflow-visible", className)}>
      <path d={shapeOf(color)} fillRule="evenodd" fill={`var(--mark-${(color % markColors) + 1})`} />
    </svg>
  );
}
