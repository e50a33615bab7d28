import { clsx } from "clsx";
import type { Heartbeat, HeartbeatStateName } from "../../server/schemas/heartbeat.ts";
import { stateNames } from "./heartbeats.ts";

const colors: Record<HeartbeatStateName, { dot: string; text: string }> = {
  new: { dot: "border border-line-strong", text: "text-muted" },
  up: { dot: "bg-good", text: "text-good" },
  started: { dot: "bg-good ring-2 ring-good/30", text: "text-good" },
  late: { dot: "bg-warn", text: "text-warn" },
  down: { dot: "bg-danger", text: "text-danger" },
  paused: { dot: "bg-line-strong", text: "text-muted" },
};

/** The state as a dot and a word: "Down, late". */
export function StateMark({
  state,
  reason,
  className,
}: Pick<Heartbeat, "state" | "reason"> & { className?: string }) {
  const { dot, text } = colors[state];
  return (
    <span className={clsx("flex items-center gap-2", className)}>
      <span aria-hidden className={clsx("size-2 shrink-0 rounded-full", dot)} />
      <span className={text}>
        {stateNames[state]}
        {state === "down" && reason !== null && <span className="text-muted">, {reason}</span>}
      </span>
    </span>
  );
}
