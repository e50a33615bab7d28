import { type RefObject, useLayoutEffect, useState } from "react";

/** How much room a row has: `narrow` has none for tags beside the name. */
export type Room = { kind: "narrow" | "wide"; tagsPx: number };

const narrowPxMax = 560;
/** What is beside the texts of a row: padding, icon, gaps and, where it has a column, the time. */
const narrowAsidePx = 76;
const wideAsidePx = 40 + 32 + 3 * 12 + 56;
/** The tags' share of the rest: they begin right of the middle, where a click on the row is most likely. */
const tagsShare = 8 / 19;
/** The room for tags changes in steps, so that rows are not drawn again for each pixel. */
const stepPx = 16;

function roomIn(widthPx: number): Room {
  const kind = widthPx < narrowPxMax ? "narrow" : "wide";
  const tagsPx = kind === "narrow" ? widthPx - narrowAsidePx : (widthPx - wideAsidePx) * tagsShare;
  return { kind, tagsPx: Math.floor(tagsPx / stepPx) * stepPx };
}

/** By the list's own width, not the window's: an event may be open beside it. */
export function useRoom(element: RefObject<HTMLElement | null>): Room {
  const [room, setRoom] = useState<Room>(() => roomIn(innerWidth < 768 ? innerWidth : innerWidth - 240));
  useLayoutEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      if (!entry || entry.contentRect.width === 0) return;
      const next = roomIn(entry.contentRect.width);
      setRoom((last) => (last.kind === next.kind && last.tagsPx === next.tagsPx ? last : next));
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return room;
}
