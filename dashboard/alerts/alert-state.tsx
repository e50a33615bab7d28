import { clsx } from "clsx";
import { BellOff, BellRing, Check } from "lucide-react";
import type { Alert } from "../../server/schemas/alert.ts";

const looks = {
  firing: { label: "Firing", icon: BellRing, className: "bg-danger-soft text-danger" },
  acknowledged: { label: "Acknowledged", icon: BellOff, className: "bg-warn-soft text-warn" },
  resolved: { label: "Resolved", icon: Check, className: "bg-pressed text-muted" },
};

/** The state of an alert, in words and by its icon. */
export function AlertState({ state, className }: Pick<Alert, "state"> & { className?: string }) {
  const { label, icon: Icon, className: look } = looks[state];
  return (
    <span
      className={clsx(
        "inline-flex shrink-0 items-center gap-1 rounded px-1.5 py-0.5 font-medium text-xs",
        look,
        className,
      )}
    >
      <Icon aria-hidden className="size-3.5" />
      {label}
    </span>
  );
}
