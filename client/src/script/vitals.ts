/** Entries of `PerformanceObserver` that TypeScript doesn't know. */
type Entry = PerformanceEntry & { value: number; hadRecentInput: boolean; interactionId: number };

/** A session window of layout shifts ends after a pause, and after some time (https://web.dev/articles/cls). */
const shiftPauseMs = 1_000;
const shiftWindowMs = 5_000;
/** One interaction of so many may be slower (https://web.dev/articles/inp). */
const interactionsPerOutlier = 50;

/**
 * Measures the core web vitals of a page load. Returns what tells them: LCP and INP in milliseconds, and CLS. What the
 * browser doesn't measure is missing.
 */
export function measureVitals(): () => Record<string, number> {
  const vitals: Record<string, number> = {};
  const slowest = new Map<number, number>();
  let [shift, windowStart, lastShift] = [0, 0, 0];
  let largest = 0;

  observe("largest-contentful-paint", ({ startTime }) => {
    vitals.lcp = Math.round(startTime);
  });
  observe("layout-shift", ({ startTime, value, hadRecentInput }) => {
    if (hadRecentInput) return;
    const goesOn = startTime - lastShift < shiftPauseMs && startTime - windowStart < shiftWindowMs;
    shift = goesOn ? shift + value : value;
    if (!goesOn) windowStart = startTime;
    lastShift = startTime;
    largest = Math.max(largest, shift);
    vitals.cls = Math.round(1_000 * largest) / 1_000;
  });
  observe("event", ({ interactionId, duration }) => {
    if (!interactionId) return;
    slowest.set(interactionId, Math.max(duration, slowest.get(interactionId) ?? 0));
    const durations = [...slowest.values()].sort((a, b) => b - a);
    vitals.inp = Math.round(durations[Math.floor(durations.length / interactionsPerOutlier)]!);
  });

  function observe(type: string, take: (entry: Entry) => void): void {
    if (!PerformanceObserver.supportedEntryTypes?.includes(type)) return;
    if (type === "layout-shift") vitals.cls = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) take(entry as Entry);
    }).observe({ type, buffered: true, durationThreshold: 16 } as PerformanceObserverInit);
  }

  return () => vitals;
}
