import { CopyPlus, GripVertical, Pencil, Trash2 } from "lucide-react";
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import type { Tile } from "../../server/schemas/tile.ts";
import { titleOf } from "../../server/schemas/tile-texts.ts";
import { placeStyle } from "./board-grid.tsx";
import { moveTile, resizeTile, stepTile } from "./layout.ts";
import type { BoardRange } from "./ranges.ts";
import { TileBox } from "./tile.tsx";

type Props = {
  tiles: readonly Tile[];
  range: BoardRange;
  change: (tiles: Tile[]) => void;
  edit: (tile: Tile) => void;
  duplicate: (tile: Tile) => void;
  remove: (tile: Tile) => void;
};

/** A drag in progress: the tiles as they would be, and how far the dragged one is from its cell, in pixels. */
type Drag = { id: string; tiles: Tile[]; offsetX: number; offsetY: number };

const directions: Record<string, "left" | "right" | "up" | "down"> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};
/** Distance from the edge of the screen at which a drag scrolls, and how far each time. */
const scrollEdge = 48;
const scrollStep = 16;

/** A board's tiles, to be arranged by pointer or keyboard. */
export function EditGrid({ tiles, range, change, edit, duplicate, remove }: Props) {
  const grid = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const [said, setSaid] = useState("");

  /** Follows the pointer until it is released. Escape gives up. */
  function follow(
    event: PointerEvent<HTMLElement>,
    tile: Tile,
    place: (columns: number, rows: number) => Tile[],
    moves: boolean,
  ) {
    if (event.button !== 0) return;
    const handle = event.currentTarget;
    handle.setPointerCapture(event.pointerId);
    const cell = cellOf(grid.current!);
    const start = positionIn(grid.current!, event.nativeEvent);
    let next: Tile[] | null = null;

    function onMove(moved: globalThis.PointerEvent) {
      scrollNear(grid.current!, moved.clientY);
      const at = positionIn(grid.current!, moved);
      const x = at.x - start.x;
      const y = at.y - start.y;
      next = place(Math.round(x / cell.width), Math.round(y / cell.height));
      const placed = next.find(({ id }) => id === tile.id)!;
      setDrag({
        id: tile.id,
        tiles: next,
        offsetX: moves ? x - (placed.x - tile.x) * cell.width : 0,
        offsetY: moves ? y - (placed.y - tile.y) * cell.height : 0,
      });
    }
    function end(takes: boolean) {
      handle.removeEventListener("pointermove", onMove);
      handle.removeEventListener("pointerup", onUp);
      handle.removeEventListener("pointercancel", onCancel);
      window.removeEventListener("keydown", onKey, true);
      setDrag(null);
      if (takes && next) change(next);
    }
    const onUp = () => end(true);
    const onCancel = () => end(false);
    function onKey(key: globalThis.KeyboardEvent) {
      if (key.key !== "Escape") return;
      key.stopPropagation();
      end(false);
    }
    handle.addEventListener("pointermove", onMove);
    handle.addEventListener("pointerup", onUp);
    handle.addEventListener("pointercancel", onCancel);
    window.addEventListener("keydown", onKey, true);
  }

  function onKey(event: KeyboardEvent, tile: Tile, action: "move" | "resize") {
    const direction = directions[event.key];
    if (!direction) return;
    event.preventDefault();
    const next =
      action === "move"
        ? stepTile(tiles, tile.id, direction)
        : resizeTile(
            tiles,
            tile.id,
            tile.w + (direction === "right" ? 1 : direction === "left" ? -1 : 0),
            tile.h + (direction === "down" ? 1 : direction === "up" ? -1 : 0),
          );
    change(next);
    const { x, y, w, h } = next.find(({ id }) => id === tile.id)!;
    setSaid(`${titleOf(tile)}: column ${x + 1}, row ${y + 1}, ${w} wide, ${h} high`);
  }

  const landing = drag?.tiles.find(({ id }) => id === drag.id);
  return (
    <div ref={grid} className="board board-editing">
      {landing && <div aria-hidden className="board-landing" style={placeStyle(landing)} />}
      {(drag?.tiles ?? tiles).map((tile) => {
        const title = titleOf(tile);
        const isDragged = drag?.id === tile.id;
        return (
          <div
            key={tile.id}
            style={{
              ...placeStyle(tile),
              ...(isDragged && { translate: `${drag.offsetX}px ${drag.offsetY}px` }),
            }}
            data-dragged={isDragged || undefined}
          >
            <TileBox
              tile={tile}
              range={range}
              actions={
                <span className="flex">
                  <button
                    type="button"
                    className="tile-action tile-handle"
                    aria-label={`Move ${title}`}
                    title="Drag, or press the arrow keys"
                    onPointerDown={(event) =>
                      follow(event, tile, (x, y) => moveTile(tiles, tile.id, tile.x + x, tile.y + y), true)
                    }
                    onKeyDown={(event) => onKey(event, tile, "move")}
                  >
                    <GripVertical aria-hidden className="size-4" />
                  </button>
                  <Action label={`Edit ${title}`} title="Edit" onClick={() => edit(tile)}>
                    <Pencil aria-hidden className="size-3.5" />
                  </Action>
                  <Action label={`Duplicate ${title}`} title="Duplicate" onClick={() => duplicate(tile)}>
                    <CopyPlus aria-hidden className="size-3.5" />
                  </Action>
                  <Action label={`Remove ${title}`} title="Remove" onClick={() => remove(tile)}>
                    <Trash2 aria-hidden className="size-3.5" />
                  </Action>
                </span>
              }
            />
            <button
              type="button"
              className="tile-resize"
              aria-label={`Resize ${title}`}
              title="Drag, or press the arrow keys"
              onPointerDown={(event) =>
                follow(event, tile, (w, h) => resizeTile(tiles, tile.id, tile.w + w, tile.h + h), false)
              }
              onKeyDown={(event) => onKey(event, tile, "resize")}
            />
          </div>
        );
      })}
      <p role="status" className="sr-only">
        {said}
      </p>
    </div>
  );
}

type ActionProps = { label: string; title: string; onClick: () => void; children: React.ReactNode };

function Action({ label, title, onClick, children }: ActionProps) {
  return (
    <button type="button" className="tile-action" aria-label={label} title={title} onClick={onClick}>
      {children}
    </button>
  );
}

/** The size of a column and a row with the gap after it, in pixels. */
function cellOf(grid: HTMLElement): { width: number; height: number } {
  const { columnGap, rowGap, gridAutoRows } = getComputedStyle(grid);
  return {
    width: (grid.clientWidth + Number.parseFloat(columnGap)) / 12,
    height: Number.parseFloat(gridAutoRows) + Number.parseFloat(rowGap),
  };
}

/** A pointer's position in the grid, also while the grid is scrolled. */
function positionIn(grid: HTMLElement, { clientX, clientY }: globalThis.PointerEvent) {
  const { left, top } = grid.getBoundingClientRect();
  return { x: clientX - left, y: clientY - top };
}

function scrollNear(grid: HTMLElement, clientY: number) {
  const pane = grid.closest(".board-pane");
  if (!pane) return;
  const { top, bottom } = pane.getBoundingClientRect();
  if (clientY > bottom - scrollEdge) pane.scrollBy(0, scrollStep);
  else if (clientY < top + scrollEdge) pane.scrollBy(0, -scrollStep);
}
