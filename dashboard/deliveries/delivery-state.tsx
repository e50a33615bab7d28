import { clsx } from "clsx";
import { Bell, type LucideIcon, Mail, MonitorSmartphone, Send } from "lucide-react";
import type { Delivery } from "../../server/wire/delivery.ts";

export const accountKinds: Record<string, { icon: LucideIcon; name: string }> = {
  dashboard: { icon: Bell, name: "Dashboard" },
  browser: { icon: MonitorSmartphone, name: "Browser push" },
  email: { icon: Mail, name: "Email" },
};

/** The icon and name of where a delivery goes. A project's destinations have names of their own. */
export function placeOf({ kind, label }: Delivery): { icon: LucideIcon; name: string } {
  return accountKinds[kind] ?? { icon: Send, name: label };
}

export const deliveryStates: Record<Delivery["state"], { name: string; className: string }> = {
  waiting: { name: "Waiting", className: "bg-warn-soft text-warn" },
  delivered: { name: "Delivered", className: "bg-good-soft text-good" },
  dead: { name: "Failed", className: "bg-danger-soft text-danger" },
  cancelled: { name: "Cancelled", className: "bg-pressed text-muted" },
  skipped: { name: "Skipped", className: "bg-pressed text-muted" },
  collected: { name: "Collected", className: "bg-pressed text-muted" },
};

export function DeliveryState({ state }: { state: Delivery["state"] }) {
  const { name, className } = deliveryStates[state];
  return (
    <span className={clsx("shrink-0 rounded px-1.5 py-0.5 font-medium text-xs leading-4", className)}>
      {name}
    </span>
  );
}
