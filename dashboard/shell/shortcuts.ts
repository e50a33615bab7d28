import { useEffect, useRef } from "react";

/** True while keys belong to something else: a field, or a dialog or menu on top of the page. */
function isTaken(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  if (target?.closest("input, textarea, select, [contenteditable]")) return true;
  return document.querySelector('[role="dialog"], [role="menu"]') !== null;
}

/** Single keys for the page, such as `j`; never while somebody writes. */
export function useShortcuts(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const current = useRef(keys);
  useEffect(() => {
    current.current = keys;
  });
  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented || isTaken(event)) return;
      const act = current.current[event.key];
      if (!act) return;
      act(event);
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
