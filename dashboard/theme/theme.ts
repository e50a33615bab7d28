import { useSyncExternalStore } from "react";
import { loadChoice, onChoiceChanged, saveChoice } from "../storage.ts";

export const themes = ["light", "dark", "system"] as const;
export type Theme = (typeof themes)[number];

const listeners = new Set<() => void>();
const systemDark = matchMedia("(prefers-color-scheme: dark)");

let theme: Theme = loadTheme();
systemDark.addEventListener("change", apply);
onChoiceChanged((key) => {
  if (key !== "theme") return;
  theme = loadTheme();
  apply();
});

function loadTheme(): Theme {
  return themes.find((each) => each === loadChoice("theme")) ?? "system";
}

/** Does the same as `public/theme.js` does before the first paint. */
function apply() {
  document.documentElement.classList.toggle("dark", isDark());
  const color = isDark() ? "#151412" : "#f7f5f1";
  document.querySelector('meta[name="theme-color"]')?.setAttribute("content", color);
  for (const listener of listeners) listener();
}

function isDark(): boolean {
  return theme === "dark" || (theme === "system" && systemDark.matches);
}

export function chooseTheme(choice: Theme): void {
  theme = choice;
  saveChoice("theme", choice);
  apply();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => theme);
}

export function useDark(): boolean {
  return useSyncExternalStore(subscribe, isDark);
}
