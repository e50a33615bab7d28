import { useEffect, useRef } from "react";

const lookMs = 2_000;
const answerMaxMs = 5_000;

/** Calls `retry` once the server answers again. */
export function useServerBack(isAway: boolean, retry: () => void): void {
  const current = useRef(retry);
  useEffect(() => {
    current.current = retry;
  });
  useEffect(() => {
    if (!isAway) return;
    let isOver = false;
    let isLooking = false;
    const timer = setInterval(async () => {
      // A server that is silent would take up the browser's connections, one for each look.
      if (isLooking) return;
      isLooking = true;
      const signal = AbortSignal.timeout(answerMaxMs);
      const isBack = await fetch("/healthz", { cache: "no-store", signal }).then(
        ({ ok }) => ok,
        () => false,
      );
      isLooking = false;
      if (isBack && !isOver) current.current();
    }, lookMs);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [isAway]);
}
