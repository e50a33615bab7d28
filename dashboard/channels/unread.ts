import { useEffect, useSyncExternalStore } from "react";
import type { Channel } from "../../server/wire/channel.ts";
import type { Entry } from "../feed/entries.ts";
import type { Row } from "../feed/rows.ts";
import { loadChoice, onChoiceChanged, saveChoice } from "../storage.ts";

// How many events of each channel this browser has shown; newer ones are unread. The server does not track this.

type Seen = Record<string, number>;
const seenByProject = new Map<string, Seen>();
const listeners = new Set<() => void>();

onChoiceChanged((key) => {
  if (!key.startsWith("seen.")) return;
  // Another tab has marked events as seen.
  seenByProject.delete(key.slice("seen.".length));
  for (const listener of listeners) listener();
});

function loadSeen(project: string): Seen | undefined {
  const known = seenByProject.get(project);
  if (known) return known;
  const stored = loadChoice(`seen.${project}`);
  if (stored === null) return undefined;
  try {
    const seen = JSON.parse(stored) as Seen;
    seenByProject.set(project, seen);
    return seen;
  } catch {
    // Edited by hand or written by another version: start over.
    return undefined;
  }
}

function saveSeen(project: string, seen: Seen) {
  seenByProject.set(project, seen);
  saveChoice(`seen.${project}`, JSON.stringify(seen));
  for (const listener of listeners) listener();
}

export function markSeen(project: string, channels: readonly Channel[]): void {
  const seen = loadSeen(project) ?? {};
  if (channels.every((channel) => seen[channel.id] === channel.events)) return;
  saveSeen(project, { ...seen, ...Object.fromEntries(channels.map(({ id, events }) => [id, events])) });
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the unread count of a channel. The open channel counts as read while the page is visible. */
export function useUnread(project: string, channels: Channel[] | undefined, open: string | undefined) {
  const seen = useSyncExternalStore(subscribe, () => loadSeen(project));

  useEffect(() => {
    if (!channels) return;
    // On a first visit nothing is unread; later, all events of a new channel are.
    if (!seen) return markSeen(project, channels);
    const current = channels.find((channel) => channel.id === open);
    // Expired events lower a count; the seen count must follow, or new events would not show as unread.
    const fallen = channels.filter((channel) => (seen[channel.id] ?? 0) > channel.events);
    const visible = current && document.visibilityState === "visible" ? [current] : [];
    if (visible.length + fallen.length > 0) markSeen(project, [...visible, ...fallen]);
  }, [project, channels, open, seen]);

  return (channel: Channel): number =>
    seen && channel.id !== open ? Math.max(0, channel.events - (seen[channel.id] ?? 0)) : 0;
}

/**
 * Marks channels as read if all their unread events are on screen in the feed of all channels. `entries` are the
 * feed's entries, `last` is the last rendered row.
 */
export function useMarkShown(
  project: string,
  channels: Channel[] | undefined,
  entries: readonly Entry[],
  last: Row | undefined,
) {
  const seen = useSyncExternalStore(subscribe, () => loadSeen(project));
  const lastIndex = last?.kind === "event" ? last.index : -1;
  useEffect(() => {
    if (!channels || !seen || document.visibilityState !== "visible") return;
    const unread = channels.filter(({ id, events }) => events > (seen[id] ?? 0));
    if (unread.length === 0) return;
    const shown = new Map<string, number>();
    for (const { event } of entries.slice(0, lastIndex + 1)) {
      shown.set(event.channelId, (shown.get(event.channelId) ?? 0) + 1);
    }
    const read = unread.filter(({ id, events }) => (shown.get(id) ?? 0) >= events - (seen[id] ?? 0));
    if (read.length > 0) markSeen(project, read);
  }, [project, channels, seen, entries, lastIndex]);
}
