import { clsx } from "clsx";
import type { ComponentProps } from "react";

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
