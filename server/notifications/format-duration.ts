const minuteMs = 60_000;
const hourMinutes = 60;
const dayMinutes = 24 * hourMinutes;

/** A duration in its two largest units, in minutes and hours up to three days: "26 hours", "1 hour 30 minutes". */
export function formatDuration(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / minuteMs));
  const [large, small] =
    minutes < 3 * dayMinutes
      ? [countOf(Math.floor(minutes / hourMinutes), "hour"), countOf(minutes % hourMinutes, "minute")]
      : [
          countOf(Math.floor(minutes / dayMinutes), "day"),
          countOf(Math.floor((minutes % dayMinutes) / hourMinutes), "hour"),
        ];
  return [large, small].filter((part) => part !== "").join(" ");
}

function countOf(count: number, unit: string): string {
  if (count === 0) return "";
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
