import { type FocusEvent, type KeyboardEvent, useState } from "react";

const lists = ["views", "channels"] as const;
type List = (typeof lists)[number];

/** Attributes of a link in one of the sidebar's lists. */
export function navLink(list: List, key: string) {
  return { "data-list": list, "data-key": key };
}

const links = "a[data-list]";

/**
 * Tab reaches one link of each list in the sidebar, because hundreds of channels would stand between it and the page.
 * The arrow keys, Home and End move between the links of all lists, and → to a link's menu.
 */
export function useRoving(open: Record<List, string | undefined>) {
  const [last, setLast] = useState<Partial<Record<List, string>>>({});
  const [before, setBefore] = useState(open);
  // An item that was opened elsewhere, such as in the palette, takes precedence over the item that had the focus.
  if (lists.some((list) => open[list] !== before[list])) {
    setBefore(open);
    setLast({});
  }

  function onFocus({ target }: FocusEvent) {
    const link = target.closest<HTMLElement>(links);
    if (!link) return;
    const { list, key } = link.dataset;
    setLast((before) => (before[list as List] === key ? before : { ...before, [list as List]: key }));
  }

  function onKeyDown(event: KeyboardEvent<HTMLElement>) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const next = nextOf(event.target as HTMLElement, event.key, event.currentTarget);
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  /** The link of a list that Tab reaches: the last one that had the focus, or the open one, or the first. */
  function stopOf(list: List, keys: readonly string[]): string | undefined {
    return [last[list], open[list]].find((key) => key !== undefined && keys.includes(key)) ?? keys[0];
  }

  return { onFocus, onKeyDown, stopOf };
}

function nextOf(from: HTMLElement, key: string, nav: HTMLElement): HTMLElement | null | undefined {
  if (key === "ArrowLeft" && from.previousElementSibling?.matches(links))
    return from.previousElementSibling as HTMLElement;
  const all = [...nav.querySelectorAll<HTMLElement>(links)];
  // From the field that filters the channels to those that are left.
  if (key === "ArrowDown" && from.matches("input"))
    return all.find(({ dataset }) => dataset.list === "channels");
  const at = all.indexOf(from);
  if (at < 0) return null;
  switch (key) {
    case "ArrowDown":
      return all[at + 1];
    case "ArrowUp":
      return all[at - 1];
    case "Home":
      return all[0];
    case "End":
      return all.at(-1);
    case "ArrowRight":
      return from.nextElementSibling?.matches("button") ? (from.nextElementSibling as HTMLElement) : null;
    default:
      return null;
  }
}
