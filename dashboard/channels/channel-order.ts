import { useSyncExternalStore } from "react";
import type { SidebarChannel } from "../../server/schemas/view.ts";
import { loadChoice, onChoiceChanged, saveChoice } from "../storage.ts";

/** Pinned channels come first. The others are ordered by name, or those with the newest events first. */
export type ChannelOrder = "name" | "recent";

const key = "channel-order";
const listeners = new Set<() => void>();

onChoiceChanged((changed) => {
  if (changed === key) for (const listener of listeners) listener();
});

export function chooseOrder(order: ChannelOrder): void {
  saveChoice(key, order);
  for (const listener of listeners) listener();
}

export function useChannelOrder(): ChannelOrder {
  return useSyncExternalStore(subscribe, () => (loadChoice(key) === "recent" ? "recent" : "name"));
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** By minutes, so that rows don't change places with every event. */
const minuteOf = ({ lastEventAt }: SidebarChannel) => lastEventAt?.slice(0, 16) ?? "";

/** The channels that the sidebar lists: pinned ones, the others, and archived ones if they are asked for. */
export function orderChannels(
  channels: readonly SidebarChannel[],
  order: ChannelOrder,
  filter: string,
): { pinned: SidebarChannel[]; others: SidebarChannel[]; archived: SidebarChannel[] } {
  const wanted = filter.trim().toLowerCase();
  const found = wanted === "" ? channels : channels.filter(({ name }) => name.toLowerCase().includes(wanted));
  const active = found.filter(({ archivedAt }) => archivedAt === null);
  const others = active.filter(({ pin }) => pin === null);
  // The server lists them by name, and sorting is stable.
  if (order === "recent")
    others.sort((a, b) => (minuteOf(b) > minuteOf(a) ? 1 : minuteOf(b) < minuteOf(a) ? -1 : 0));
  return {
    pinned: active.filter(({ pin }) => pin !== null).sort((a, b) => a.pin! - b.pin!),
    others,
    archived: found.filter(({ archivedAt }) => archivedAt !== null),
  };
}
