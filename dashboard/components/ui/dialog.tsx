import "./dialog.css";
import { clsx } from "clsx";
import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { focusOpener } from "../../shell/opener.ts";

type DialogProps = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: ReactNode;
  /** `sheet` slides in from the left, for the channel list on phones. */
  form?: "dialog" | "sheet";
  /** `columns` has room for two columns. */
  wide?: boolean | "columns";
  /** If false, only the dialog's own buttons close it. */
  closable?: boolean;
  /** A click outside closes it too. Not for dialogs with input, or with a secret that is shown only once. */
  dismissible?: boolean;
  children: ReactNode;
};

export function Dialog({ form = "dialog", ...props }: DialogProps) {
  const { open, onOpenChange, title, description, wide = false, children } = props;
  const { closable = true, dismissible = false } = props;
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-fade bg-overlay" />
        <Radix.Content
          {...(!description && { "aria-describedby": undefined })}
          onCloseAutoFocus={focusOpener}
          onInteractOutside={(event) => !dismissible && event.preventDefault()}
          // Escape closes an open list of suggestions first.
          onEscapeKeyDown={(event) =>
            (!closable || (event.target as Element).ariaExpanded === "true") && event.preventDefault()
          }
          className={clsx(
            "fixed z-50 flex flex-col overflow-hidden border-line bg-raised outline-none",
            form === "sheet"
              ? "inset-y-0 left-0 w-[min(300px,85vw)] animate-slide border-r"
              : "inset-x-4 top-[12vh] mx-auto max-h-[80vh] animate-rise rounded-xl border shadow-lg",
            form === "dialog" && (wide === "columns" ? "max-w-5xl" : wide ? "max-w-xl" : "max-w-md"),
          )}
        >
          <header className={clsx("px-5 pt-4", closable && "pr-14")}>
            <div className="min-w-0 py-1">
              <Radix.Title className="font-semibold text-lg leading-6">{title}</Radix.Title>
              {description && (
                <Radix.Description className="mt-1 text-muted text-sm">{description}</Radix.Description>
              )}
            </div>
          </header>
          <div className="min-h-0 flex-1 scroll-pb-20 overflow-y-auto px-5 pt-3 pb-5">
            <div aria-hidden className="scrolled-edge sticky -top-3 z-10 -mx-5" />
            {children}
          </div>
          {/* Last in the DOM, so that the first field gets the focus. */}
          {closable && (
            <Radix.Close
              aria-label="Close"
              className="absolute top-4 right-3 flex size-8 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink max-md:top-3 max-md:right-2 max-md:size-10"
            >
              <X aria-hidden className="size-4" />
            </Radix.Close>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** The row of buttons at the bottom of a dialog's form. It stays visible while a long form scrolls. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return (
    <div className="unscrolled-edge sticky -bottom-5 z-10 -mx-5 -mb-5 flex justify-end gap-2 bg-raised px-5 pt-3 pb-5">
      {children}
    </div>
  );
}
