import { formatAmount } from "./locale.ts";

/** "40 s", "12 min", "3.5 h", "2 days". */
export function secondsText(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3_600) return `${formatAmount(Math.round(seconds / 360) / 10)} h`;
  return `${formatAmount(Math.round(seconds / 8_640) / 10)} days`;
}
