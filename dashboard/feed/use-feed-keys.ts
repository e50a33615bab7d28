import { useNavigate } from "@tanstack/react-router";
import type { RefObject } from "react";
import { useShortcuts } from "../shell/shortcuts.tsx";
import type { Filters } from "./filters.ts";
import { type FeedRow, keyOf } from "./rows.ts";

type FeedKeys = {
  rows: FeedRow[];
  /** The chosen row; null to start at the first one. A ref, because keys may come faster than renders. */
  active: RefObject<string | null | undefined>;
  choose: (key: string) => void;
  openId: string | undefined;
  project: string;
  /** The parameters of links to events. */
  search: Filters;
  scrollToTop: () => void;
  show: (index: number) => void;
  /** Unfolds or folds the run of this row. */
  toggle: (key: string) => void;
  scroller: RefObject<HTMLElement | null>;
};

/** Keyboard navigation in the feed: next, previous, top, open. While an event is open, moving opens the next one. */
export function useFeedKeys(feed: FeedKeys): void {
  const { rows, active, choose, openId, project, search, scrollToTop, show, toggle, scroller } = feed;
  const navigate = useNavigate();

  function open(id: string, replace: boolean) {
    const params = { project, id };
    void navigate({ to: "/p/$project/events/$id", params, search, replace });
  }

  function move(event: KeyboardEvent, step: 1 | -1) {
    event.preventDefault();
    const from = active.current === undefined ? openId : active.current;
    let index = rows.findIndex((row) => keyOf(row) === from);
    do index += step;
    while (rows[index]?.kind === "day");
    const row = rows[index];
    if (!row) return;
    choose(keyOf(row));
    show(index);
    if (openId && row.kind === "event") open(row.entry.event.id, true);
    focusActive();
  }

  function focusActive() {
    // Two frames: one for the list to scroll, one for the row to render. Another key may have moved on by then.
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        scroller.current
          ?.querySelector<HTMLElement>(`[data-row="${CSS.escape(active.current ?? "")}"]`)
          ?.focus({ preventScroll: true }),
      ),
    );
  }

  /** Right unfolds the chosen run; left folds the run that is chosen, or that the chosen event belongs to. */
  function fold(event: KeyboardEvent, isOpen: boolean) {
    const row = rows.find((each) => keyOf(each) === active.current);
    const run = row?.kind === "run" ? row : row?.kind === "event" && isOpen ? row.run : null;
    if (!run || run.isOpen !== isOpen) return;
    event.preventDefault();
    toggle(run.key);
    choose(run.key);
    focusActive();
  }

  const next = (event: KeyboardEvent) => move(event, 1);
  const previous = (event: KeyboardEvent) => move(event, -1);
  const right = (event: KeyboardEvent) => fold(event, false);
  const left = (event: KeyboardEvent) => fold(event, true);
  useShortcuts({
    j: next,
    ArrowDown: next,
    k: previous,
    ArrowUp: previous,
    ArrowRight: right,
    ArrowLeft: left,
    g: scrollToTop,
    Enter(event) {
      const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
      if (!row || row !== event.target) return;
      if (row.dataset.event) open(row.dataset.event, false);
      else toggle(row.dataset.row!);
    },
  });
}
