import { useEffect, useSyncExternalStore } from "react";
import type { Channel } from "../../server/wire/channel.ts";
import { keep, recall } from "../storage.ts";

// How many events of each channel this browser has seen: what came since is unread. The server does not know it.

type Seen = Record<string, number>;
const seenByProject = new Map<string, Seen>();
const listeners = new Set<() => void>();

function seenIn(project: string): Seen | undefined {
  const known = seenByProject.get(project);
  if (known) return known;
  const stored = recall(`seen.${project}`);
  if (stored === null) return undefined;
  try {
    const seen = JSON.parse(stored) as Seen;
    seenByProject.set(project, seen);
    return seen;
  } catch {
    // Written by hand or by another version: start again.
    return undefined;
  }
}

function write(project: string, seen: Seen) {
  seenByProject.set(project, seen);
  keep(`seen.${project}`, JSON.stringify(seen));
  for (const listener of listeners) listener();
}

export function markSeen(project: string, channels: readonly Channel[]): void {
  const seen = seenIn(project) ?? {};
  if (channels.every((channel) => seen[channel.id] === channel.events)) return;
  write(project, { ...seen, ...Object.fromEntries(channels.map(({ id, events }) => [id, events])) });
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Unread events by channel. The channel that is open counts as read while the page is visible. */
export function useUnread(project: string, channels: Channel[] | undefined, open: string | undefined) {
  const seen = useSyncExternalStore(subscribe, () => seenIn(project));

  useEffect(() => {
    if (!channels) return;
    // On a first visit nothing is unread; from then on a channel that is new is unread as a whole.
    if (!seen) return markSeen(project, channels);
    const current = channels.find((channel) => channel.id === open);
    // Events that expired make a count fall: what comes after must count again.
    const fallen = channels.filter((channel) => (seen[channel.id] ?? 0) > channel.events);
    const visible = current && document.visibilityState === "visible" ? [current] : [];
    if (visible.length + fallen.length > 0) markSeen(project, [...visible, ...fallen]);
  }, [project, channels, open, seen]);

  return (channel: Channel): number =>
    seen && channel.id !== open ? Math.max(0, channel.events - (seen[channel.id] ?? 0)) : 0;
}
