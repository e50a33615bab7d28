import { useEffect, useRef } from "react";

const pollMs = 2_000;
const responseTimeoutMs = 5_000;

/** Calls `retry` once the server responds again. */
export function useServerBack(isAway: boolean, retry: () => void): void {
  const current = useRef(retry);
  useEffect(() => {
    current.current = retry;
  });
  useEffect(() => {
    if (!isAway) return;
    let isStopped = false;
    let isPolling = false;
    const timer = setInterval(async () => {
      // One request at a time, or a silent server would use up the browser's connections.
      if (isPolling) return;
      isPolling = true;
      const signal = AbortSignal.timeout(responseTimeoutMs);
      const isBack = await fetch("/healthz", { cache: "no-store", signal }).then(
        ({ ok }) => ok,
        () => false,
      );
      isPolling = false;
      if (isBack && !isStopped) current.current();
    }, pollMs);
    return () => {
      isStopped = true;
      clearInterval(timer);
    };
  }, [isAway]);
}
