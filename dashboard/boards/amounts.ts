import { stepNameOf } from "../../server/schemas/step-name.ts";
import { formatAmount, formatCompact, formatShare } from "../components/locale.ts";
import type { ShownTile } from "./boards.ts";

/** "12,345.67"; a dash if there is nothing to compute it from. */
export function amountText(value: number | null): string {
  return value === null ? "–" : formatAmount(value);
}

/** The same with a unit: "42%", "3 min 20 s". */
export function withUnit(value: number | null, unit: "percent" | "seconds" | undefined): string {
  if (value === null || unit === undefined) return amountText(value);
  if (unit === "percent") return formatShare(value / 100);
  const seconds = Math.round(value);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** "12.3K", for axes and narrow places. */
export function shortAmount(value: number | null): string {
  return value === null ? "–" : formatCompact(value);
}

/** The change against an earlier value; null if there is none to compare with. */
export function changeOf(
  value: number | null,
  before: number | null | undefined,
): { text: string; isUp: boolean; isSame: boolean } | null {
  if (value === null || before === null || before === undefined) return null;
  if (value === before) return { text: "no change", isUp: false, isSame: true };
  if (before === 0) return { text: "new", isUp: value > 0, isSame: false };
  const share = (value - before) / Math.abs(before);
  const text =
    Math.abs(share) >= 10 ? `${amountText(Math.round(value / before))}×` : formatShare(Math.abs(share));
  return { text, isUp: share > 0, isSame: false };
}

/** The change against the period before, in words: "15% fewer than before"; null if there is nothing to compare. */
export function changeText(value: number, before: number): string | null {
  const change = changeOf(value, before);
  if (!change) return null;
  if (change.isSame) return "as many as before";
  if (before === 0) return "none before";
  return change.text.endsWith("×")
    ? `${change.text} as many as before`
    : `${change.text} ${change.isUp ? "more" : "fewer"} than before`;
}

/** A funnel's step: its name, or else its search, which public boards don't have. */
export function stepText(tile: ShownTile, index: number): string {
  const given = "stepNames" in tile ? tile.stepNames?.[index] : undefined;
  if (!("steps" in tile)) return given ?? `Step ${index + 1}`;
  const q = tile.steps[index]!;
  return stepNameOf(q, given ?? undefined) ?? q;
}
