import { clsx } from "clsx";
import type { ReactNode } from "react";
import { IconButton } from "./button.tsx";

type RowActionProps = {
  /** Names the row too, because several rows have the same action. */
  label: string;
  title: string;
  danger?: boolean;
  disabled?: boolean;
  onClick: () => void;
  children: ReactNode;
};

/** An icon button at the end of a row. */
export function RowAction({ danger = false, ...button }: RowActionProps) {
  return (
    <IconButton
      {...button}
      className={clsx(
        "size-8 disabled:opacity-60 max-md:size-10",
        danger && "hover:bg-danger-soft hover:text-danger",
      )}
    />
  );
}
