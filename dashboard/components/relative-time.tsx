import { useSyncExternalStore } from "react";
import { formatDate } from "./dates.ts";
import { yearOf } from "./zone.ts";

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all times on the page, because a timer per row would mean thousands. */
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

const dayMs = 86_400_000;

/** "now", "40s", "12m", "3h": short enough for a dense list. */
function recentAge(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 10) return "now";
  if (seconds < 60) return `${seconds - (seconds % 5)}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  return `${Math.floor(seconds / 3_600)}h`;
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

/** `long` is for sentences, `clock` for rows under a day heading, `short` for rows without one. */
type TimeForm = "short" | "clock" | "long";

function ageOf(time: number, form: TimeForm): string {
  // Times in the future, from a clock that is ahead, read "now".
  const ms = Math.max(0, now - time);
  if (form === "long") return longAge(ms);
  if (ms < dayMs) return recentAge(ms);
  if (form === "clock") return formatDate(time, "clock");
  if (ms < 7 * dayMs) return `${Math.floor(ms / dayMs)}d`;
  return formatDate(time, yearOf(time) === yearOf(now) ? "day" : "dayOfYear");
}

type RelativeTimeProps = { at: number | string; form?: TimeForm; className?: string };

/** How long ago something was, with the exact time in `title` and `dateTime`. */
export function RelativeTime({ at, form = "short", className }: RelativeTimeProps) {
  const time = typeof at === "number" ? at : Date.parse(at);
  const age = useSyncExternalStore(subscribe, () => ageOf(time, form));
  return (
    <time dateTime={new Date(time).toISOString()} title={formatDate(time, "exact")} className={className}>
      {age}
    </time>
  );
}
