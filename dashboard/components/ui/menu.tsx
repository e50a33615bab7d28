import { clsx } from "clsx";
import { Check } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ComponentProps, ReactNode } from "react";

type MenuProps = {
  trigger: ReactNode;
  defaultOpen?: boolean;
  children: ReactNode;
  align?: "start" | "end";
  side?: "top" | "bottom";
  onOpenChange?: (isOpen: boolean) => void;
};

/**
 * Loaded on first use, so don't import it in the first load. It is not in a portal and not modal: it stays in its
 * trigger's landmark, and screen readers can still read the page around it.
 */
export function Menu({
  trigger,
  defaultOpen = false,
  children,
  align = "start",
  side = "bottom",
  onOpenChange,
}: MenuProps) {
  return (
    <DropdownMenu.Root defaultOpen={defaultOpen} modal={false} {...(onOpenChange && { onOpenChange })}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Content
        align={align}
        side={side}
        sideOffset={6}
        collisionPadding={8}
        className="z-50 min-w-56 max-h-[60vh] max-w-80 animate-rise overflow-y-auto rounded-lg border border-line-strong bg-raised p-1 shadow-md"
      >
        {children}
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}

const itemClass =
  "flex min-h-8 w-full items-center gap-2 rounded-md px-2 text-sm outline-none data-highlighted:bg-hover data-disabled:opacity-50 " +
  "max-md:min-h-11 [&>svg]:size-4 [&>svg]:shrink-0 [&>svg]:text-faint";

type MenuItemProps = ComponentProps<typeof DropdownMenu.Item> & {
  /** It deletes or ends something. */
  danger?: boolean;
};

export function MenuItem({ danger = false, className, ...rest }: MenuItemProps) {
  return (
    <DropdownMenu.Item
      {...rest}
      className={clsx(
        itemClass,
        danger && "text-danger data-highlighted:bg-danger-soft [&>svg]:text-danger",
        className,
      )}
    />
  );
}

/** Stays open, so that several can be chosen. */
export function MenuCheckbox({ children, ...rest }: ComponentProps<typeof DropdownMenu.CheckboxItem>) {
  return (
    <DropdownMenu.CheckboxItem
      {...rest}
      onSelect={(event) => event.preventDefault()}
      className={clsx(itemClass, "relative pl-8")}
    >
      <DropdownMenu.ItemIndicator className="absolute left-3">
        <Check aria-hidden className="size-4 text-accent" />
      </DropdownMenu.ItemIndicator>
      {children}
    </DropdownMenu.CheckboxItem>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return (
    <DropdownMenu.Label className="px-2 pt-2 pb-1 font-medium text-faint text-xs">
      {children}
    </DropdownMenu.Label>
  );
}

export function MenuSeparator() {
  return <DropdownMenu.Separator className="my-1 h-px bg-line" />;
}
