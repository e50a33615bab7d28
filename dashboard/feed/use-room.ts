import { type RefObject, useLayoutEffect, useState } from "react";

/** How much room a row has: `narrow` has none for tags beside the name, `wide` has it for many. */
export type Room = "narrow" | "medium" | "wide";

function roomIn(widthPx: number): Room {
  if (widthPx < 560) return "narrow";
  return widthPx < 900 ? "medium" : "wide";
}

/** By the list's own width, not the window's: an event may be open beside it. */
export function useRoom(element: RefObject<HTMLElement | null>): Room {
  const [room, setRoom] = useState<Room>(() => roomIn(innerWidth < 768 ? innerWidth : innerWidth - 240));
  useLayoutEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry && entry.contentRect.width > 0) setRoom(roomIn(entry.contentRect.width));
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return room;
}
