import type uPlot from "uplot";

/** A pointer that moves further drags. */
const clickMaxPx = 5;

/**
 * Calls back when the plot is clicked, or tapped where it was tapped before: the first tap only reads the values. Returns
 * what ends it.
 */
export function onPickIn(u: uPlot, pick: (leftPx: number) => void): () => void {
  let downPx: number | null = null;
  let tappedIndex: number | null = null;

  const leftOf = (event: PointerEvent) => event.clientX - u.over.getBoundingClientRect().left;
  function onDown(event: PointerEvent) {
    downPx = event.button === 0 ? leftOf(event) : null;
  }
  function onUp(event: PointerEvent) {
    const left = leftOf(event);
    const isClick = downPx !== null && Math.abs(left - downPx) <= clickMaxPx;
    downPx = null;
    if (!isClick) return;
    const index = u.posToIdx(left);
    const isSecond = tappedIndex === index;
    tappedIndex = index;
    if (event.pointerType === "mouse" || isSecond) pick(left);
  }

  u.over.addEventListener("pointerdown", onDown);
  u.over.addEventListener("pointerup", onUp);
  return () => {
    u.over.removeEventListener("pointerdown", onDown);
    u.over.removeEventListener("pointerup", onUp);
  };
}
