import { clsx } from "clsx";
import { type RefObject, useLayoutEffect, useMemo, useState } from "react";

/** The layout of a row: `narrow` has no room for tags next to the name. */
export type RowLayout = {
  kind: "narrow" | "wide";
  /** The width of the row in pixels without padding, icon and, in wide rows, the time. */
  textPx: number;
  isCompact: boolean;
  /** Name and channel are on one line. */
  isLine: boolean;
};

const narrowPxMax = 560;
/** Width taken by everything but text: padding, icon, gaps and, in wide rows, the time column. */
const narrowAsidePx = 76;
const wideAsidePx = 40 + 32 + 3 * 12 + 64;
/** The width changes in steps, so that rows don't re-render for each pixel. */
const stepPx = 16;

type Width = Pick<RowLayout, "kind" | "textPx">;

function layoutFor(widthPx: number): Width {
  const kind = widthPx < narrowPxMax ? "narrow" : "wide";
  const textPx = widthPx - (kind === "narrow" ? narrowAsidePx : wideAsidePx);
  return { kind, textPx: Math.floor(textPx / stepPx) * stepPx };
}

/** The width of the sidebar, in pixels. */
const sidebarPx = () => (innerWidth < 768 ? 0 : innerWidth < 1_024 ? 56 : 240);

/** From the list's own width, not the window's, because an open event narrows the list. */
export function useRowLayout(element: RefObject<HTMLElement | null>, isCompact: boolean): RowLayout {
  const [layout, setLayout] = useState<Width>(() => layoutFor(innerWidth - sidebarPx()));
  useLayoutEffect(() => {
    const list = element.current;
    if (!list) return;
    const update = () => {
      if (list.clientWidth === 0) return;
      const next = layoutFor(list.clientWidth);
      setLayout((last) => (last.kind === next.kind && last.textPx === next.textPx ? last : next));
    };
    // Before the first paint; the observer calls after it.
    update();
    const observer = new ResizeObserver(update);
    observer.observe(list);
    return () => observer.disconnect();
  }, [element]);
  return useMemo(
    () => ({ ...layout, isCompact, isLine: isCompact && layout.kind === "wide" }),
    [layout, isCompact],
  );
}

/** A row's classes. In wide rows the tags follow the name, in narrow rows they have a line of their own. */
export function rowClass({ kind, isCompact }: RowLayout, look: string): string {
  return clsx(
    "group relative flex h-full gap-x-3 border-line border-b px-4 focus-visible:outline-offset-[-2px] md:px-5",
    kind === "narrow" ? clsx("items-start", isCompact ? "py-1" : "py-2.5") : "items-center",
    look,
  );
}
