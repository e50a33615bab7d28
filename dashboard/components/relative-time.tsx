import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for every time on the page: a timer for each row would be thousands. */
function subscribe(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(tick, 5_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick() {
  now = Date.now();
  for (const listener of listeners) listener();
}

const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export function exactTime(at: number | string): string {
  return exactFormat.format(new Date(at));
}

const mediumFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** To the second, in the time of this browser; short enough for a line of a phone. */
export function mediumTime(at: string): string {
  return mediumFormat.format(new Date(at));
}

/** "now", "40s", "12m", "3h", "2d": as short as a dense list needs. */
function shortAge(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 10) return "now";
  if (seconds < 60) return `${seconds - (seconds % 5)}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`;
  if (seconds < 86_400 * 60) return `${Math.floor(seconds / 86_400)}d`;
  return `${Math.floor(seconds / (86_400 * 30))}mo`;
}

const longFormat = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

function longAge(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 10) return "just now";
  if (seconds < 60) return longFormat.format(-seconds, "second");
  if (seconds < 3_600) return longFormat.format(-Math.floor(seconds / 60), "minute");
  if (seconds < 86_400) return longFormat.format(-Math.floor(seconds / 3_600), "hour");
  return longFormat.format(-Math.floor(seconds / 86_400), "day");
}

type RelativeTimeProps = { at: number | string; long?: boolean; className?: string };

/** How long ago, with the exact time on hover and for machines. A clock that runs ahead reads "now". */
export function RelativeTime({ at, long = false, className }: RelativeTimeProps) {
  const time = typeof at === "number" ? at : Date.parse(at);
  const age = useSyncExternalStore(subscribe, () => {
    const ms = Math.max(0, now - time);
    return long ? longAge(ms) : shortAge(ms);
  });
  return (
    <time dateTime={new Date(time).toISOString()} title={exactTime(time)} className={className}>
      {age}
    </time>
  );
}
