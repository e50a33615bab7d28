import { clsx } from "clsx";
import { LoaderCircle } from "lucide-react";
import type { ComponentProps } from "react";

const variants = {
  solid: "bg-solid text-on-solid hover:bg-solid-hover",
  outline: "border border-line-strong bg-raised text-ink hover:bg-hover",
  ghost: "text-muted hover:bg-hover hover:text-ink",
  danger: "border border-line-strong bg-raised text-danger hover:bg-danger-soft",
} as const;

const sizes = {
  md: "h-8 gap-1.5 px-3 text-sm",
  lg: "h-10 gap-2 px-4 text-base",
  icon: "size-8 justify-center",
} as const;

type ButtonStyle = { variant?: keyof typeof variants; size?: keyof typeof sizes };

/** A button's classes, for links that look like buttons. */
export function buttonClass({ variant = "outline", size = "md" }: ButtonStyle = {}, extra?: string): string {
  return clsx(
    "inline-flex shrink-0 select-none items-center justify-center rounded-md font-medium transition-colors",
    "whitespace-nowrap disabled:opacity-60 aria-disabled:opacity-60 max-md:min-h-10",
    size === "icon" && "max-md:min-w-10",
    variants[variant],
    sizes[size],
    extra,
  );
}

type ButtonProps = ComponentProps<"button"> & ButtonStyle & { busy?: boolean };

export function Button({ variant, size, busy = false, className, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      // A disabled button loses the focus, so a busy one only ignores clicks, including those of Enter in a field.
      aria-disabled={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
      className={buttonClass({ ...(variant && { variant }), ...(size && { size }) }, className)}
    >
      {busy && <LoaderCircle aria-hidden className="size-3.5 animate-spin" />}
      {children}
    </button>
  );
}

type IconButtonProps = Omit<ComponentProps<"button">, "aria-label"> & { label: string };

/** A button with only an icon. `label` is its accessible name; `className` sets its size. */
export function IconButton({ label, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      {...rest}
      className={clsx(
        "flex shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink",
        className,
      )}
    />
  );
}

export const navItemClass =
  "group flex h-8 max-md:h-11 md:[@media(max-height:960px)]:h-7 shrink-0 items-center gap-2.5 rounded-md px-2 text-sm text-muted transition-colors " +
  "hover:bg-hover hover:text-ink data-active:bg-pressed data-active:font-medium data-active:text-ink " +
  "focus-visible:outline-offset-[-2px]";

/** The menu of a navigation item, at its right end; where there is a pointer, only under it. */
export const navMenuClass =
  "absolute top-1 right-1 flex size-6 items-center justify-center rounded text-muted hover:bg-pressed hover:text-ink " +
  "focus-visible:opacity-100 data-[state=open]:opacity-100 max-md:top-0.5 max-md:right-0 max-md:size-10 " +
  "md:opacity-0 md:group-hover:opacity-100";
