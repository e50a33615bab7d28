import { type FocusEvent, type KeyboardEvent, useState } from "react";

const links = "a[data-order]";

/**
 * Tab reaches one link of a diagram of paths, because dozens would stand between it and the next tile. The arrow keys,
 * Home and End move between them: from an event to those who took it, and on to the next event of its step.
 */
export function usePathLinks() {
  const [stop, setStop] = useState(0);
  const [focused, setFocused] = useState<string | null>(null);

  function onFocus({ target }: FocusEvent<Element>) {
    const link = target.closest<SVGAElement>(links);
    if (!link) return;
    setStop(Number(link.dataset.order));
    // A tooltip is for the mouse only.
    if (link.matches(":focus-visible")) setFocused(link.getAttribute("aria-label"));
  }

  function onKeyDown(event: KeyboardEvent<Element>) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const order = (link: SVGAElement) => Number(link.dataset.order);
    const all = [...event.currentTarget.querySelectorAll<SVGAElement>(links)].sort(
      (a, b) => order(a) - order(b),
    );
    const at = all.indexOf((event.target as Element).closest<SVGAElement>(links)!);
    const next = at < 0 ? undefined : all[nextIndex(event.key, at, all.length)];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  return { stop, focused, handlers: { onFocus, onBlur: () => setFocused(null), onKeyDown } };
}

/** -1 if the key doesn't move, or nothing is there. */
function nextIndex(key: string, at: number, count: number): number {
  switch (key) {
    case "ArrowDown":
    case "ArrowRight":
      return at + 1 < count ? at + 1 : -1;
    case "ArrowUp":
    case "ArrowLeft":
      return at - 1;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return -1;
  }
}
