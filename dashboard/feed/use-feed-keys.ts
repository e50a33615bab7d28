import { useNavigate } from "@tanstack/react-router";
import type { RefObject } from "react";
import { useShortcuts } from "../shell/shortcuts.tsx";
import type { Filters } from "./filters.ts";
import type { Row } from "./rows.ts";

type FeedKeys = {
  rows: Row[];
  /** The chosen row; null to start at the first one. A ref, because keys may come faster than renders. */
  active: RefObject<string | null | undefined>;
  choose: (id: string) => void;
  openId: string | undefined;
  project: string;
  filters: Filters;
  scrollToTop: () => void;
  show: (index: number) => void;
  scroller: RefObject<HTMLElement | null>;
};

/** Keyboard navigation in the feed: next, previous, top, open. While an event is open, moving opens the next one. */
export function useFeedKeys(feed: FeedKeys): void {
  const { rows, active, choose, openId, project, filters, scrollToTop, show, scroller } = feed;
  const navigate = useNavigate();

  function open(id: string, replace: boolean) {
    const params = { project, id };
    void navigate({ to: "/p/$project/events/$id", params, search: filters, replace });
  }

  function move(event: KeyboardEvent, step: 1 | -1) {
    event.preventDefault();
    const from = active.current === undefined ? openId : active.current;
    let index = rows.findIndex((row) => row.kind === "event" && row.entry.event.id === from);
    do index += step;
    while (rows[index]?.kind === "day");
    const row = rows[index];
    if (row?.kind !== "event") return;
    const { id } = row.entry.event;
    choose(id);
    show(index);
    if (openId) open(id, true);
    // Two frames: one for the list to scroll, one for the row to render. Another key may have moved on by then.
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        scroller.current
          ?.querySelector<HTMLElement>(`[data-event="${CSS.escape(active.current ?? "")}"]`)
          ?.focus({ preventScroll: true }),
      ),
    );
  }

  const next = (event: KeyboardEvent) => move(event, 1);
  const previous = (event: KeyboardEvent) => move(event, -1);
  useShortcuts({
    j: next,
    ArrowDown: next,
    k: previous,
    ArrowUp: previous,
    g: scrollToTop,
    Enter(event) {
      const row = (event.target as HTMLElement).closest<HTMLElement>("[data-event]");
      if (row && row === event.target) open(row.dataset.event!, false);
    },
  });
}
