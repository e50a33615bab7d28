const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** 12,345 → "12.3K": for narrow columns. */
export function shortCount(count: number): string {
  return compact.format(count);
}
