const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** Seconds of a duration such as `90`, `90s`, `30m`, `12h`, `7d` or `2w`; NaN if the text is none. */
export function secondsOf(duration: string): number {
  const [, count, unit = "s"] = /^(\d{1,9})([smhdw])?$/.exec(duration) ?? [];
  return Number(count) * unitSeconds[unit as keyof typeof unitSeconds];
}
