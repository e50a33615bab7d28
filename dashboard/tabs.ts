import type { QueryKey } from "@tanstack/react-query";
import type { Marked } from "./notifications/notifications.ts";

// Messages between the tabs of this browser.

export type TabMessage =
  | { type: "event-deleted"; project: string; id: string }
  | { type: "notifications-read"; marked: Marked; unread: number }
  /** The results of these queries have changed. */
  | { type: "changed"; keys: QueryKey[] }
  /** These channels and views were read. */
  | { type: "seen"; project: string; seen: { channels: string[]; views: string[] } }
  | { type: "signed-in" };

const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("tidings");
/** `isOwn`: this tab sent it. */
type TabListener = (message: TabMessage, isOwn: boolean) => void;
const listeners = new Set<TabListener>();

channel?.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => deliver(data, false));

function deliver(message: TabMessage, isOwn: boolean) {
  for (const listener of listeners) listener(message, isOwn);
}

/** Sends a message to the other tabs and to this tab's listeners. */
export function broadcastToTabs(message: TabMessage): void {
  channel?.postMessage(message);
  deliver(message, true);
}

export function onTabMessage(listener: TabListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
