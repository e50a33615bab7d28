import type { ReactNode, Ref } from "react";

type Props = { label: string; className?: string; ref?: Ref<HTMLElement>; children: ReactNode };

/** The content of a tile that may be larger than the tile. */
export function TileScroll({ label, className = "tile-scroll", ref, children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
    <section ref={ref} className={className} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
