import { useEffect, useState, useSyncExternalStore } from "react";
import { useLiveStatus } from "../live/live-updates.ts";

/** Short interruptions, such as a restart, are not mentioned. */
const noteDelayMs = 3_000;

/** A note on every page while the server is unreachable. The page keeps its content and catches up afterwards. */
export function ConnectionNote() {
  const isInterrupted = useLiveStatus() === "reconnecting";
  const [isLong, setLong] = useState(false);
  const isOnline = useSyncExternalStore(subscribeOnline, () => navigator.onLine);
  useEffect(() => {
    if (!isInterrupted) return;
    const timer = setTimeout(() => setLong(true), noteDelayMs);
    return () => {
      clearTimeout(timer);
      setLong(false);
    };
  }, [isInterrupted]);
  return (
    <div
      role="status"
      className="pointer-events-none absolute inset-x-0 bottom-3 z-20 flex justify-center px-4"
    >
      {isInterrupted && isLong && (
        <p className="animate-rise rounded-full border border-line-strong bg-raised px-3.5 py-1.5 text-muted text-sm shadow-md">
          {isOnline
            ? "Can't reach the server. Trying again…"
            : "You're offline. Events appear once you're back."}
        </p>
      )}
    </div>
  );
}

function subscribeOnline(listener: () => void) {
  const events = ["online", "offline"];
  for (const event of events) addEventListener(event, listener);
  return () => {
    for (const event of events) removeEventListener(event, listener);
  };
}
