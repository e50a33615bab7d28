/** Numbers as reports write them: in English, because their readers' regions are not known. */

const amounts = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const wholes = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** "12,345.67"; a dash if there is nothing to compute it from. */
export function amountText(value: number | null): string {
  return value === null ? "–" : amounts.format(value);
}

/** A number of a tile that may have a unit: "42%", "3 min 20 s". */
export function withUnit(value: number | null, unit: "percent" | "seconds" | undefined): string {
  if (value === null || unit === undefined) return amountText(value);
  return unit === "percent" ? shareText(value / 100) : durationText(value);
}

/** "12 s", "3 min 20 s". */
function durationText(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** "12.3K", for axes. */
export function shortAmount(value: number): string {
  return compact.format(value);
}

/** "42%", and "0.4%" for small shares. */
export function shareText(share: number): string {
  return `${(share > 0 && share < 0.1 ? tenths : wholes).format(share * 100)}%`;
}

/** "12% more than the week before (11,020)"; null if there is nothing to compare with. */
export function changeText(
  value: number | null,
  before: number | null | undefined,
  compared: string,
): string | null {
  if (value === null || before === null || before === undefined) return null;
  if (value === before) return `the same as ${compared}`;
  const earlier = `${compared} (${amountText(before)})`;
  if (before === 0) return `${value > 0 ? "more" : "less"} than ${earlier}`;
  const share = (value - before) / Math.abs(before);
  if (Math.abs(share) >= 10) return `${amountText(Math.round(value / before))}× ${earlier}`;
  return `${shareText(Math.abs(share))} ${share > 0 ? "more" : "less"} than ${earlier}`;
}
