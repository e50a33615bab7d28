import { type ReactNode, useEffect, useRef } from "react";

/** Whether keys belong to something else: an input, or a dialog or menu on top of the page, also while it loads. */
function isTaken(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  if (target?.closest("input, textarea, select, [contenteditable]")) return true;
  return document.querySelector('[role="dialog"], [role="menu"], [data-opening]') !== null;
}

/** Single-key shortcuts for the page, such as `j`; inactive while typing. */
export function useShortcuts(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const current = useRef(keys);
  useEffect(() => {
    current.current = keys;
  });
  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented || isTaken(event)) return;
      const handler = current.current[event.key];
      if (!handler) return;
      handler(event);
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

/** A key, as on a keyboard. */
export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded border border-line-strong bg-canvas px-1 font-sans text-2xs text-muted">
      {children}
    </kbd>
  );
}
