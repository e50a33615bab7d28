import { clsx } from "clsx";
import { useLiveStatus } from "./live-updates.ts";

const labels = {
  connecting: "Connecting…",
  live: "Live",
  reconnecting: "Reconnecting…",
  paused: "Paused",
} as const;

/** @param isPaused - the reader has paused the feed */
export function LiveIndicator({ isPaused = false }: { isPaused?: boolean }) {
  const connection = useLiveStatus();
  const status = isPaused && connection === "live" ? "paused" : connection;
  return (
    <span role="status" className="flex h-6 shrink-0 items-center gap-1.5 px-1 text-muted text-xs">
      <span
        aria-hidden
        className={clsx(
          "size-1.5 rounded-full",
          status === "live" ? "bg-accent" : isPaused ? "bg-warn" : "animate-pulse-dot bg-warn",
        )}
      />
      {/* On phones, the dot leaves the room to the title. */}
      <span className={clsx(status === "live" && "max-md:sr-only")}>{labels[status]}</span>
    </span>
  );
}
