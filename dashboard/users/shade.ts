const darkest = 4;

/** How dark a day is, from 0 to 4: by magnitude, so that one busy day doesn't make all others pale. */
export function shadeOf(events: number, most: number): number {
  if (events === 0) return 0;
  return Math.max(1, Math.ceil((darkest * Math.log1p(events)) / Math.log1p(most)));
}
