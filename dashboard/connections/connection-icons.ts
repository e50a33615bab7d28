import { CircleSlash, KeyRound, type LucideIcon, PackageCheck, Send, Webhook } from "lucide-react";
import type { ConnectionPage } from "./connections.ts";

export const connectionIcons: Record<ConnectionPage, LucideIcon> = {
  keys: KeyRound,
  webhooks: Webhook,
  rejected: CircleSlash,
  destinations: Send,
  deliveries: PackageCheck,
};
