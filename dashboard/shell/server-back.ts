import { useEffect, useRef } from "react";

const lookMs = 2_000;

/** Calls `retry` once the server answers again. */
export function useServerBack(isAway: boolean, retry: () => void): void {
  const current = useRef(retry);
  useEffect(() => {
    current.current = retry;
  });
  useEffect(() => {
    if (!isAway) return;
    let isOver = false;
    const timer = setInterval(async () => {
      const isBack = await fetch("/healthz", { cache: "no-store" }).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isBack && !isOver) current.current();
    }, lookMs);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [isAway]);
}
