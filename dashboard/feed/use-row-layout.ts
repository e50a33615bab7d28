import { type RefObject, useLayoutEffect, useState } from "react";

/** How a row is laid out: `narrow` has no room for tags next to the name. */
export type RowLayout = { kind: "narrow" | "wide"; tagsPx: number };

const narrowPxMax = 560;
/** Width taken by everything but text: padding, icon, gaps and, in wide rows, the time column. */
const narrowAsidePx = 76;
const wideAsidePx = 40 + 32 + 3 * 12 + 56;
/** The tags' share of the rest. They start right of the middle, away from where clicks on the row are most likely. */
const tagsShare = 8 / 19;
/** The width for tags changes in steps, so that rows don't re-render for each pixel. */
const stepPx = 16;

function layoutFor(widthPx: number): RowLayout {
  const kind = widthPx < narrowPxMax ? "narrow" : "wide";
  const tagsPx = kind === "narrow" ? widthPx - narrowAsidePx : (widthPx - wideAsidePx) * tagsShare;
  return { kind, tagsPx: Math.floor(tagsPx / stepPx) * stepPx };
}

/** From the list's own width, not the window's, because an open event narrows the list. */
export function useRowLayout(element: RefObject<HTMLElement | null>): RowLayout {
  const [layout, setLayout] = useState<RowLayout>(() =>
    layoutFor(innerWidth < 768 ? innerWidth : innerWidth - 240),
  );
  useLayoutEffect(() => {
    const list = element.current;
    if (!list) return;
    const update = () => {
      if (list.clientWidth === 0) return;
      const next = layoutFor(list.clientWidth);
      setLayout((last) => (last.kind === next.kind && last.tagsPx === next.tagsPx ? last : next));
    };
    // Before the first paint; the observer calls after it.
    update();
    const observer = new ResizeObserver(update);
    observer.observe(list);
    return () => observer.disconnect();
  }, [element]);
  return layout;
}
