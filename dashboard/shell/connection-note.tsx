import { useEffect, useState } from "react";
import { useLiveStatus } from "../live/live-updates.ts";

/** A short interruption, such as a restart, needs no words. */
const patienceMs = 3_000;

/** Says quietly, on every page, that the server is away. What is shown stays, and is brought up to date afterwards. */
export function ConnectionNote() {
  const isInterrupted = useLiveStatus() === "reconnecting";
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    if (!isInterrupted) return;
    const timer = setTimeout(() => setLong(true), patienceMs);
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
          Can't reach the server. Trying again…
        </p>
      )}
    </div>
  );
}
