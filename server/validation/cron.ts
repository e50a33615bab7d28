import { Cron } from "croner";

/**
 * The first time after a moment at which cron would run something, in milliseconds since 1970; null if it never would.
 * As Vixie cron does around summer time (https://man7.org/linux/man-pages/man8/cron.8.html): a time of day that the
 * clock skips is when the clock has skipped it, and one that it shows twice is the first of the two.
 *
 * Throws an error of croner's for an expression that is no cron expression.
 */
export function nextCronMs(expression: string, timeZone: string, afterMs: number): number | null {
  const cron = new Cron(expression, {
    timezone: timeZone,
    mode: "5-part",
    fixedTimeRule: "no-wildcard",
    paused: true,
  });
  return cron.nextRun(new Date(afterMs))?.getTime() ?? null;
}

/** What is wrong with a cron expression, as the second half of a sentence, or null. */
export function faultInCron(expression: string): string | null {
  try {
    if (nextCronMs(expression, "UTC", Date.now()) !== null) return null;
    return "never fires. Choose a day that its months have";
  } catch (error) {
    const reason = (error as Error).message.replace(/^CronPattern: /, "").replace(/\.$/, "");
    const hint = `Write five fields: minute, hour, day of month, month, weekday, as in "30 2 * * *"`;
    return `is not a cron expression (${reason}). ${hint}`;
  }
}
