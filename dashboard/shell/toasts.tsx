import { clsx } from "clsx";
import { ArrowUpRight } from "lucide-react";
import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react";
import { formatNumber } from "../components/locale.ts";

// Part of the first load, because it reports errors such as an unreachable server.

type Message = {
  title: ReactNode;
  description?: ReactNode;
  failed?: boolean;
  open?: () => void;
  undo?: () => unknown;
};
type Toast = Message & { id: number; kind: "message" | "notification" | "count" };

const toastsMax = 3;
const shownMs = 6_000;
/** Time to notice a mistake and to reach the button. */
const undoMs = 10_000;

let toasts: readonly Toast[] = [];
let ids = 0;
/** How many notifications the summary toast stands for. */
let countedTotal = 0;
const listeners = new Set<() => void>();

function show(next: readonly Toast[]) {
  toasts = next.slice(-toastsMax);
  if (!toasts.some(({ kind }) => kind === "count")) countedTotal = 0;
  for (const listener of listeners) listener();
}

export function toast(message: Message): void {
  show([...toasts, { ...message, id: ids++, kind: "message" }]);
}

/** Shows a few notifications one by one, and many as a single count. */
export function announce(messages: Message[], openAll: () => void): void {
  const others = toasts.filter(({ kind }) => kind === "message");
  const single = toasts.filter(({ kind }) => kind === "notification");
  if (countedTotal === 0 && single.length + messages.length <= toastsMax) {
    show([...toasts, ...messages.map((each) => ({ ...each, id: ids++, kind: "notification" as const }))]);
    return;
  }
  countedTotal += single.length + messages.length;
  const count: Toast = {
    id: toasts.find(({ kind }) => kind === "count")?.id ?? ids++,
    kind: "count",
    title: `${formatNumber(countedTotal)} new notifications`,
    description: messages.at(-1)?.title,
    open: openAll,
  };
  show([...others, count]);
}

/** Called when the list of notifications opens, which shows them all. */
export function dismissNotifications(): void {
  show(toasts.filter(({ kind }) => kind === "message"));
}

function dismiss(id: number) {
  show(toasts.filter((each) => each.id !== id));
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  const [isHeld, setHeld] = useState(false);
  return (
    <section
      aria-label="Messages"
      aria-live="polite"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      // In the corner without controls, above the running jobs.
      className="pointer-events-none fixed right-4 bottom-[calc(1rem+var(--jobs,0px))] z-60 flex w-[356px] max-w-[calc(100vw-32px)] flex-col gap-2 max-md:bottom-[calc(5rem+var(--jobs,0px))]"
    >
      {shown.map((each) => (
        <ToastBox key={each.id} toast={each} isHeld={isHeld} />
      ))}
    </section>
  );
}

/** Disappears after a while, but not while the pointer is over it. */
function ToastBox({ toast, isHeld }: { toast: Toast; isHeld: boolean }) {
  const { id, title, description, failed, open, undo } = toast;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a growing count stays longer
  useEffect(() => {
    if (isHeld) return;
    const timer = setTimeout(() => dismiss(id), undo ? undoMs : shownMs);
    return () => clearTimeout(timer);
  }, [id, isHeld, title]);

  const box =
    "pointer-events-auto flex w-full animate-rise items-center gap-3 rounded-lg border border-line-strong bg-raised px-4 py-3 text-ink text-sm shadow-md";
  const text = (
    <span className="min-w-0 flex-1 text-left">
      <span className={clsx("hostile line-clamp-2 block font-medium", failed && "text-danger")}>{title}</span>
      {description && <span className="hostile line-clamp-3 block text-muted">{description}</span>}
    </span>
  );
  if (!open) {
    return (
      <div data-toast role={failed ? "alert" : undefined} className={box}>
        {text}
        {undo && (
          <button
            type="button"
            className="shrink-0 rounded px-1 font-medium text-accent hover:underline max-md:min-h-10"
            onClick={() => {
              dismiss(id);
              void undo();
            }}
          >
            Undo
          </button>
        )}
      </div>
    );
  }
  return (
    <button
      data-toast
      type="button"
      className={`${box} hover:bg-hover`}
      onClick={() => {
        dismiss(id);
        open();
      }}
    >
      {text}
      <ArrowUpRight aria-hidden className="size-4 shrink-0 text-faint" />
    </button>
  );
}
