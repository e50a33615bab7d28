import { clsx } from "clsx";
import { Bell, type LucideIcon, Mail, MonitorSmartphone, Send } from "lucide-react";
import type { Delivery } from "../../server/schemas/delivery.ts";

export const accountKinds: Record<string, { icon: LucideIcon; name: string }> = {
  dashboard: { icon: Bell, name: "Dashboard" },
  browser: { icon: MonitorSmartphone, name: "Browser push" },
  email: { icon: Mail, name: "Email" },
};

/** The icon and name of where a delivery goes. A project's destinations have names of their own. */
export function placeOf({ kind, label }: Delivery): { icon: LucideIcon; name: string } {
  return accountKinds[kind] ?? { icon: Send, name: label };
}

export const deliveryStates: Record<Delivery["state"], { name: string; hint: string; className: string }> = {
  waiting: { name: "Waiting", hint: "to be sent or tried again", className: "bg-warn-soft text-warn" },
  delivered: { name: "Delivered", hint: "the recipient has it", className: "bg-good-soft text-good" },
  dead: { name: "Failed", hint: "after the last attempt", className: "bg-danger-soft text-danger" },
  cancelled: {
    name: "Not sent",
    hint: "the destination was removed first",
    className: "bg-pressed text-muted",
  },
  skipped: { name: "Held back", hint: "by the member's settings", className: "bg-pressed text-muted" },
  collected: { name: "Grouped", hint: "sent together with others", className: "bg-pressed text-muted" },
};

export function DeliveryState({ state }: { state: Delivery["state"] }) {
  const { name, hint, className } = deliveryStates[state];
  return (
    <span
      title={`${name}: ${hint}`}
      className={clsx("shrink-0 rounded px-1.5 py-0.5 font-medium text-xs leading-4", className)}
    >
      {name}
    </span>
  );
}
