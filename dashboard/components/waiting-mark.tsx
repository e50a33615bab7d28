import { Mark } from "./mark.tsx";

/** The logo with a pulsing dot, while waiting for events. */
export function WaitingMark() {
  return (
    <span
      aria-hidden
      className="relative flex size-16 items-center justify-center rounded-2xl border border-line bg-canvas text-accent"
    >
      <Mark className="h-6 w-8" />
      <span className="absolute -top-1 -right-1 size-2.5 animate-pulse-dot rounded-full bg-accent" />
    </span>
  );
}
