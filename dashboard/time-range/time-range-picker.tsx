import { clsx } from "clsx";
import { CalendarClock, ChevronDown, X } from "lucide-react";
import { Suspense, useState } from "react";
import { errorMessage } from "../api.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { IconButton } from "../components/ui/button.tsx";
import { OverlayBoundary } from "../shell/overlays.tsx";
import { useShortcuts } from "../shell/shortcuts.tsx";
import { toast } from "../shell/toasts.tsx";
import type { TimeDialogProps } from "./time-dialog.tsx";
import { timeLabel } from "./time-label.ts";
import type { TimeMenuProps } from "./time-menu.tsx";
import { listRanges, type Range, type TimeFilter } from "./time-range.ts";

const TimeMenu = lazyPart<TimeMenuProps>(async () => (await import("./time-menu.tsx")).TimeMenu);
const TimeDialog = lazyPart<TimeDialogProps>(async () => (await import("./time-dialog.tsx")).TimeDialog);

export type TimeRangePickerProps = {
  time: TimeFilter;
  change: (time: TimeFilter) => void;
  /** Default: those of a list. */
  offered?: readonly Range[];
  /** Whether all time can be chosen. */
  hasAll?: boolean;
  /** Offers "Jump to date", which makes sense for a list. */
  canJump?: boolean;
  /** Other ranges are days, without times of day. */
  isWholeDays?: boolean;
  /** Like the buttons beside it. */
  isOutlined?: boolean;
};

/** Chooses the time that is shown: one of the usual ranges, from and to, or up to a moment. `t` opens it. */
export function TimeRangePicker({
  time,
  change,
  offered = listRanges,
  hasAll = true,
  canJump = false,
  isWholeDays = false,
  isOutlined = false,
}: TimeRangePickerProps) {
  // Counts the times it was opened by something else than the menu's own button.
  const [opened, setOpened] = useState(0);
  const [dialog, setDialog] = useState<TimeDialogProps["mode"] | null>(null);
  const open = () => setOpened((count) => count + 1);
  useShortcuts({
    t(event) {
      event.preventDefault();
      open();
    },
  });

  const label = timeLabel(time, Date.now());
  const button = (props: { onClick?: () => void }) => (
    <button
      type="button"
      aria-label={`Time: ${label}`}
      aria-haspopup="menu"
      aria-keyshortcuts="t"
      className={clsx(
        "flex min-w-0 items-center gap-1.5 rounded-md font-medium text-sm hover:bg-hover max-md:h-10",
        isOutlined ? "h-8 border border-line-strong bg-raised px-2.5" : "h-7 px-1.5",
      )}
      {...props}
    >
      <CalendarClock aria-hidden className="size-4 shrink-0 text-faint" />
      <span className="truncate">{label}</span>
      <ChevronDown aria-hidden className="size-3.5 shrink-0 text-faint" />
    </button>
  );

  return (
    <div className="flex min-w-0 items-center">
      {opened === 0 ? (
        button({ onClick: open })
      ) : (
        <ErrorBoundary
          fallback={(_, retry) => button({ onClick: retry })}
          onError={(error) =>
            toast({ title: "The menu couldn't be opened", description: errorMessage(error), failed: true })
          }
        >
          <Suspense fallback={button({})}>
            <TimeMenu
              key={opened}
              trigger={button({})}
              time={time}
              change={change}
              openDialog={setDialog}
              {...{ offered, hasAll, canJump, isWholeDays }}
            />
          </Suspense>
        </ErrorBoundary>
      )}
      {hasAll && Object.keys(time).length > 0 && (
        <IconButton
          label="Show all time"
          title="Show all time"
          onClick={() => change({})}
          className="size-7 max-md:size-10"
        >
          <X aria-hidden className="size-3.5" />
        </IconButton>
      )}
      {dialog && (
        <OverlayBoundary close={() => setDialog(null)}>
          <TimeDialog
            mode={dialog}
            time={time}
            change={change}
            close={() => setDialog(null)}
            isWholeDays={isWholeDays}
          />
        </OverlayBoundary>
      )}
    </div>
  );
}
