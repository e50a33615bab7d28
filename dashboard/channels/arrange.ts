import type { Sidebar } from "../../server/schemas/view.ts";
import { api, errorMessage } from "../api.ts";
import { queries, refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { pinChannels } from "./channel-actions.ts";
import { sidebarQuery } from "./channels.ts";

// Arranges pinned channels and views in the sidebar: by dragging with a pointer, after a long press on touch screens, or
// with Alt and an arrow key. Loaded on first use.

const holdMs = 350;
/** Movement in pixels that begins a drag with a mouse, and ends a long press. */
const slackPx = 5;

/** Tells screen readers where something was moved. */
const status = document.createElement("span");
status.role = "status";
status.className = "sr-only";
document.body.append(status);

const groupOf = (item: HTMLElement) =>
  [...item.parentElement!.querySelectorAll<HTMLElement>("[data-arrange]")].filter(
    ({ dataset }) => dataset.arrange === item.dataset.arrange,
  );
const idOf = ({ dataset }: HTMLElement) => dataset.id!;

/** Begins to drag an item that was pressed, or moves it by a key. */
export function arrange(project: string, item: HTMLElement, event: PointerEvent | KeyboardEvent): void {
  if (event instanceof KeyboardEvent) {
    if (event.key === "ArrowUp") void step(project, item, -1);
    else if (event.key === "ArrowDown") void step(project, item, 1);
    return;
  }
  const isOnMenu = (event.target as Element).closest("button") !== null;
  if (event.button === 0 && !isOnMenu) drag(project, item, event);
}

/** Moves an item one place up or down, and keeps the focus on it. */
async function step(project: string, item: HTMLElement, by: -1 | 1): Promise<void> {
  const ids = groupOf(item).map(idOf);
  const id = idOf(item);
  const to = ids.indexOf(id) + by;
  if (to < 0 || to >= ids.length) return;
  const nav = item.parentElement!;
  const kind = item.dataset.arrange!;
  const saving = save(project, kind, ids, { id, to });
  requestAnimationFrame(() => {
    const again = [...nav.querySelectorAll<HTMLElement>("[data-arrange]")].find(
      (each) => each.dataset.arrange === kind && idOf(each) === id,
    );
    again?.querySelector("a")?.focus();
  });
  status.textContent = `Moved to place ${to + 1} of ${ids.length}`;
  await saving;
}

/** Follows a pointer that was pressed on an item. */
function drag(project: string, item: HTMLElement, press: PointerEvent): void {
  const items = groupOf(item);
  const from = items.indexOf(item);
  const boxes = items.map((each) => each.getBoundingClientRect());
  const height = boxes[from]!.height + 1;
  const isTouch = press.pointerType !== "mouse";
  // A touch that ended while this file was loaded. Of a mouse, the next movement tells.
  if (isTouch && !(press.target as Element).hasPointerCapture(press.pointerId)) return;
  const events = new AbortController();
  const { signal } = events;
  const landing = document.createElement("div");
  landing.className =
    "pointer-events-none fixed z-[5] rounded-md border border-accent border-dashed bg-accent-soft";
  landing.dataset.landing = "";
  let isDragging = false;
  let to = from;

  function begin() {
    isDragging = true;
    item.style.zIndex = "10";
    item.style.opacity = "0.8";
    item.parentElement!.append(landing);
    showLanding();
  }

  /** Marks where the item would be. */
  function showLanding() {
    const { left, width, height } = boxes[from]!;
    Object.assign(landing.style, {
      left: `${left}px`,
      top: `${boxes[to]!.top}px`,
      width: `${width}px`,
      height: `${height}px`,
    });
  }

  function end(isDropped: boolean) {
    clearTimeout(timer);
    events.abort();
    landing.remove();
    for (const each of items) each.removeAttribute("style");
    if (!isDragging) return;
    // The release would open the link.
    const swallow = (event: Event) => {
      event.preventDefault();
      event.stopPropagation();
    };
    window.addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => window.removeEventListener("click", swallow, { capture: true }));
    const id = idOf(item);
    if (isDropped && to !== from) void save(project, item.dataset.arrange!, items.map(idOf), { id, to });
  }

  const timer = isTouch ? setTimeout(begin, holdMs) : undefined;
  window.addEventListener(
    "pointermove",
    ({ clientY, buttons }) => {
      // The pointer was released outside of the window.
      if (buttons === 0) return end(false);
      const y = clientY - press.clientY;
      if (!isDragging) {
        if (Math.abs(y) < slackPx) return;
        // A finger that moves at once scrolls.
        if (isTouch) return end(false);
        begin();
      }
      const middle = (boxes[from]!.top + boxes[from]!.bottom) / 2 + y;
      to = boxes.findIndex(({ bottom }) => middle < bottom);
      if (to < 0) to = boxes.length - 1;
      showLanding();
      for (const [index, each] of items.entries()) {
        const shift = index > from && index <= to ? -height : index < from && index >= to ? height : 0;
        each.style.transform = `translateY(${index === from ? y : shift}px)`;
      }
    },
    { signal },
  );
  window.addEventListener("pointerup", () => end(true), { signal });
  window.addEventListener("pointercancel", () => end(false), { signal });
  window.addEventListener("keydown", ({ key }) => key === "Escape" && end(false), { signal });
  const prevent = (event: Event) => isDragging && event.preventDefault();
  window.addEventListener("touchmove", prevent, { signal, passive: false });
  window.addEventListener("contextmenu", prevent, { signal });
}

function moved(ids: readonly string[], id: string, to: number): string[] {
  return ids.filter((each) => each !== id).toSpliced(to, 0, id);
}

/** @param listed - the ids of pinned channels or views, before one of them moves */
async function save(
  project: string,
  kind: string,
  listed: string[],
  { id, to }: { id: string; to: number },
): Promise<void> {
  if (kind === "pins") return pinChannels(project, (pins) => moved(pins, id, to));
  const ids = moved(listed, id, to);
  const { queryKey } = sidebarQuery(project);
  const arrange = ({ views }: Sidebar) => {
    const arranged = ids.map((each) => views.find((view) => view.id === each)!);
    return views.map((view) => (ids.includes(view.id) ? arranged.shift()! : view));
  };
  queries.setQueryData(queryKey, (sidebar) => sidebar && { ...sidebar, views: arrange(sidebar) });
  try {
    const body = { position: to };
    await api(`/api/views/${id}`, { method: "PATCH", query: { project }, body });
  } catch (error) {
    toast({ title: "The view couldn't be moved", description: errorMessage(error), failed: true });
  }
  await refresh(queryKey);
}
