const activityWeeks = 26;

/** Midnight of the Monday with which the shown weeks begin. */
export function activityStart(now: Date): Date {
  const sinceMonday = (now.getDay() + 6) % 7;
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - sinceMonday - (activityWeeks - 1) * 7);
}

const darkest = 4;

/** How dark a day is, from 0 to 4: by magnitude, so that one busy day doesn't make all others pale. */
export function shadeOf(events: number, most: number): number {
  if (events === 0) return 0;
  return Math.max(1, Math.ceil((darkest * Math.log1p(events)) / Math.log1p(most)));
}
