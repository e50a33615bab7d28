import { clsx } from "clsx";
import { useLiveStatus } from "./live-updates.ts";

const labels = {
  connecting: "Connecting…",
  live: "Live",
  reconnecting: "Reconnecting…",
  paused: "Paused",
} as const;

export function LiveIndicator() {
  const status = useLiveStatus();
  return (
    <span role="status" className="flex h-6 shrink-0 items-center gap-1.5 px-1 text-muted text-xs">
      <span
        aria-hidden
        className={clsx(
          "size-1.5 rounded-full",
          status === "live" ? "bg-accent" : "animate-pulse-dot bg-warn",
        )}
      />
      {labels[status]}
    </span>
  );
}
