import { clsx } from "clsx";
import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";

type DialogProps = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: ReactNode;
  /** `sheet` comes from the left, for the channel list of a phone. */
  form?: "dialog" | "sheet";
  wide?: boolean;
  children: ReactNode;
};

export function Dialog({ form = "dialog", ...props }: DialogProps) {
  const { open, onOpenChange, title, description, wide = false, children } = props;
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-fade bg-overlay" />
        <Radix.Content
          {...(!description && { "aria-describedby": undefined })}
          className={clsx(
            "fixed z-50 flex flex-col overflow-hidden border-line bg-raised outline-none",
            form === "sheet"
              ? "inset-y-0 left-0 w-[min(300px,85vw)] animate-slide border-r"
              : "inset-x-4 top-[12vh] mx-auto max-h-[80vh] animate-rise rounded-xl border shadow-lg",
            form === "dialog" && (wide ? "max-w-xl" : "max-w-md"),
          )}
        >
          <header className="flex items-start gap-4 px-5 pt-4">
            <div className="min-w-0 flex-1 py-1">
              <Radix.Title className="font-semibold text-lg leading-6">{title}</Radix.Title>
              {description && (
                <Radix.Description className="mt-1 text-muted text-sm">{description}</Radix.Description>
              )}
            </div>
            <Radix.Close
              aria-label="Close"
              className="-mr-2 flex size-8 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink max-md:size-10"
            >
              <X aria-hidden className="size-4" />
            </Radix.Close>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 pt-3 pb-5">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** The row of buttons at the foot of a dialog's form. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className="mt-3 flex justify-end gap-2">{children}</div>;
}
