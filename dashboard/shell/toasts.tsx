import { lazy, type ReactNode, Suspense, useSyncExternalStore } from "react";

// Toasts are rare, and their library is not small: it loads with the first one.

type Message = { title: ReactNode; description?: ReactNode; failed?: boolean; open?: () => void };

const waiting: Message[] = [];
let wanted = false;
let show: ((message: Message) => void) | undefined;
const listeners = new Set<() => void>();

export type { Message };

export function toast(message: Message): void {
  if (show) {
    show(message);
    return;
  }
  waiting.push(message);
  wanted = true;
  for (const listener of listeners) listener();
}

/** Called by the toaster once it stands: shows what waited for it. */
export function onToasterReady(display: (message: Message) => void): void {
  show = display;
  for (const message of waiting.splice(0)) display(message);
}

const Toaster = lazy(() => import("./toaster.tsx"));

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const needed = useSyncExternalStore(subscribe, () => wanted);
  return needed && <Suspense fallback={null}>{<Toaster />}</Suspense>;
}
