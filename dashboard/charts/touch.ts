import type uPlot from "uplot";

const dragMinPx = 8;

/**
 * Lets a finger act as a mouse: it moves the cursor, and selects by dragging sideways. Returns a function that ends
 * this.
 */
export function followTouch(u: uPlot, select: (leftPx: number, rightPx: number) => void): () => void {
  let startPx: number | null = null;

  const leftOf = (event: PointerEvent) => {
    const { left, width } = u.over.getBoundingClientRect();
    return Math.min(width, Math.max(0, event.clientX - left));
  };

  function onDown(event: PointerEvent) {
    if (event.pointerType === "mouse") return;
    startPx = leftOf(event);
    u.over.setPointerCapture(event.pointerId);
    u.setCursor({ left: startPx, top: 0 });
  }

  function onMove(event: PointerEvent) {
    if (startPx === null) return;
    const left = leftOf(event);
    u.setCursor({ left, top: 0 });
    if (!u.cursor.drag?.x) return;
    const width = Math.abs(left - startPx);
    u.setSelect({ left: Math.min(left, startPx), top: 0, width, height: u.over.clientHeight }, false);
  }

  function onUp(event: PointerEvent) {
    if (startPx === null) return;
    const [left, right] = [Math.min(startPx, leftOf(event)), Math.max(startPx, leftOf(event))];
    startPx = null;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (event.type === "pointerup" && u.cursor.drag?.x && right - left >= dragMinPx) select(left, right);
  }

  const events = { pointerdown: onDown, pointermove: onMove, pointerup: onUp, pointercancel: onUp };
  for (const [type, listener] of Object.entries(events))
    u.over.addEventListener(type, listener as EventListener);
  return () => {
    for (const [type, listener] of Object.entries(events))
      u.over.removeEventListener(type, listener as EventListener);
  };
}
