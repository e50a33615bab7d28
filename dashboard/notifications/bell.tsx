import { Bell as BellIcon } from "lucide-react";
import { type ReactNode, Suspense, useState } from "react";
import { useMe } from "../account/me.ts";
import { errorMessage } from "../api.ts";
import { unreadText } from "../components/counts.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { toast } from "../shell/toasts.tsx";

const BellPopover = lazyPart<{ trigger: ReactNode }>(
  async () => (await import("./bell-popover.tsx")).default,
);

const bellClass =
  "relative flex size-8 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink data-[state=open]:bg-hover max-md:size-10";

/** The bell with the unread count. Its list is loaded when first opened. */
export function Bell() {
  const { unread } = useMe();
  const count = unreadText(unread);
  const [opened, setOpened] = useState(false);
  const button = (props: { onClick?: () => void }) => (
    <button
      type="button"
      aria-haspopup="dialog"
      aria-label={unread > 0 ? `Notifications, ${count} unread` : "Notifications"}
      className={bellClass}
      {...props}
    >
      <BellIcon aria-hidden className="size-4.5" />
      {unread > 0 && (
        <span
          aria-hidden
          className="absolute -top-0.5 left-1/2 min-w-4 max-md:top-0.5 rounded-full bg-accent px-1 text-center font-semibold text-[10px] text-on-accent leading-4 ring-2 ring-surface"
        >
          {count}
        </span>
      )}
    </button>
  );
  if (!opened) return button({ onClick: () => setOpened(true) });
  return (
    <ErrorBoundary
      fallback={(_, retry) => button({ onClick: retry })}
      onError={(error) =>
        toast({ title: "Notifications couldn't be opened", description: errorMessage(error), failed: true })
      }
    >
      <Suspense fallback={button({})}>
        <BellPopover trigger={button({})} />
      </Suspense>
    </ErrorBoundary>
  );
}
