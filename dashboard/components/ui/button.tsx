import { clsx } from "clsx";
import { LoaderCircle } from "lucide-react";
import type { ComponentProps } from "react";

const looks = {
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

type ButtonStyle = { look?: keyof typeof looks; size?: keyof typeof sizes };

/** The same look for what is a link in truth. */
export function buttonClass({ look = "outline", size = "md" }: ButtonStyle = {}, extra?: string): string {
  return clsx(
    "inline-flex shrink-0 select-none items-center justify-center rounded-md font-medium transition-colors",
    "whitespace-nowrap disabled:opacity-60 max-md:min-h-10",
    size === "icon" && "max-md:min-w-10",
    looks[look],
    sizes[size],
    extra,
  );
}

type ButtonProps = ComponentProps<"button"> & ButtonStyle & { busy?: boolean };

export function Button({ look, size, busy = false, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      className={buttonClass({ ...(look && { look }), ...(size && { size }) }, className)}
    >
      {busy && <LoaderCircle aria-hidden className="size-3.5 animate-spin" />}
      {children}
    </button>
  );
}
