import { count, type Line, milliseconds, perSecond, type RowOptions } from "../table.ts";

/** How costs grow with the number of stored events: measured while the month is loaded, at each tenfold size. */
export async function growth({ month }: RowOptions): Promise<Line[]> {
  const { growth: sizes } = await month();
  return sizes.map(({ events, perSecond: rate, bytesPerEvent, page }) => ({
    what: `at ${count(events)} events: loading in batches of 1,000`,
    measured: perSecond(rate),
    figures: `a page of 50 of a channel: p50 ${milliseconds(page.p50Ms)}, p99 ${milliseconds(page.p99Ms)}; the file has ${count(bytesPerEvent)} bytes an event`,
  }));
}
