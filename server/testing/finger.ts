import type { Page } from "playwright-core";

type Point = { x: number; y: number };

/** A finger on a page's screen, whose touches scroll and press long as real ones do. The page needs `hasTouch`. */
export async function openFinger(page: Page) {
  const session = await page.context().newCDPSession(page);
  const send = (type: "touchStart" | "touchMove" | "touchEnd", touchPoints: Point[]) =>
    session.send("Input.dispatchTouchEvent", { type, touchPoints });
  return {
    press: (at: Point) => send("touchStart", [at]),
    /** Moves in steps, as a finger's way is reported. */
    async move(from: Point, to: Point, steps = 6): Promise<void> {
      for (let step = 1; step <= steps; step++) {
        const share = step / steps;
        await send("touchMove", [
          { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share },
        ]);
      }
    },
    release: () => send("touchEnd", []),
  };
}
