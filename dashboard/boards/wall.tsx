import { Minimize2 } from "lucide-react";
import { type CSSProperties, useEffect, useRef, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import { BoardGrid } from "./board-grid.tsx";
import type { ShownTile } from "./boards.ts";
import type { BoardRange } from "./ranges.ts";

const gap = 12;
const padding = 16;
const rowMin = 40;

type Props = { name: string; tiles: readonly ShownTile[]; range: BoardRange; close: () => void };

/** A board on a wall: only tiles, as large as the screen allows. The screen stays on. Escape leaves. */
export function Wall({ name, tiles, range, close }: Props) {
  const box = useRef<HTMLElement>(null);
  const height = useHeight();
  const leave = useRef(close);
  useEffect(() => {
    leave.current = close;
  });
  useWakeLock();

  useEffect(() => {
    const element = box.current!;
    element.focus();
    // Some browsers can't, or only for videos. The board then fills the page.
    const entered = element.requestFullscreen?.().catch(() => {});
    const onChange = () => !document.fullscreenElement && leave.current();
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && leave.current();
    document.addEventListener("fullscreenchange", onChange);
    window.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("fullscreenchange", onChange);
      window.removeEventListener("keydown", onKey);
      void entered?.then(() => {
        if (document.fullscreenElement === element) void document.exitFullscreen();
      });
    };
  }, []);

  const rows = Math.min(Math.max(1, ...tiles.map(({ y, h }) => y + h)), limits.boardRows);
  const row = Math.max(rowMin, (height - 2 * padding + gap) / rows - gap);
  return (
    <section
      ref={box}
      aria-label={name}
      tabIndex={-1}
      className="board-wall"
      style={{ "--board-row": `${Math.floor(row)}px` } as CSSProperties}
    >
      <BoardGrid tiles={tiles} range={range} />
      <button
        type="button"
        aria-label="Leave full screen"
        title="Leave (Esc)"
        className="wall-leave"
        onClick={close}
      >
        <Minimize2 aria-hidden className="size-4" />
      </button>
    </section>
  );
}

function useHeight(): number {
  const [height, setHeight] = useState(innerHeight);
  useEffect(() => {
    const onResize = () => setHeight(innerHeight);
    window.addEventListener("resize", onResize);
    return () => window.removeEventListener("resize", onResize);
  }, []);
  return height;
}

/** Keeps the screen on, where the browser can. It forgets that whenever the page is hidden. */
function useWakeLock() {
  useEffect(() => {
    let lock: WakeLockSentinel | undefined;
    let isOver = false;
    async function acquire() {
      if (document.visibilityState !== "visible") return;
      lock = await navigator.wakeLock?.request("screen").catch(() => undefined);
      if (isOver) void lock?.release();
    }
    void acquire();
    document.addEventListener("visibilitychange", acquire);
    return () => {
      isOver = true;
      document.removeEventListener("visibilitychange", acquire);
      void lock?.release();
    };
  }, []);
}
