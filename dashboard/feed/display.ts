import { useSyncExternalStore } from "react";
import { loadChoice, onChoiceChanged, saveChoice } from "../storage.ts";

/** This browser's settings for feeds. */
export type Display = { isCompact: boolean; folds: boolean };

const key = "feed-display";
const listeners = new Set<() => void>();
let current = load();

function load(): Display {
  const words = loadChoice(key)?.split(" ") ?? [];
  return { isCompact: words.includes("compact"), folds: !words.includes("unfolded") };
}

onChoiceChanged((changed) => {
  if (changed === key) set(load());
});

function set(display: Display) {
  current = display;
  for (const listener of listeners) listener();
}

export function chooseDisplay(change: Partial<Display>): void {
  const { isCompact, folds } = { ...current, ...change };
  saveChoice(key, [isCompact && "compact", !folds && "unfolded"].filter(Boolean).join(" "));
  set({ isCompact, folds });
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useDisplay(): Display {
  return useSyncExternalStore(subscribe, () => current);
}
