import type { Project } from "../../server/wire/project.ts";

/** What the set-up made: the first project and its API key. */
export type Made = { project: Project; secret: string };

// Kept for this tab until the feed is opened, so that a reload does not lose the key, which the server shows only once.
const storageKey = "tidings.made";

export function keepMade(made: Made): void {
  try {
    sessionStorage.setItem(storageKey, JSON.stringify(made));
  } catch {
    // Storage is blocked: a reload loses the key, and another can be created.
  }
}

export function recallMade(): Made | null {
  try {
    const stored = sessionStorage.getItem(storageKey);
    return stored === null ? null : (JSON.parse(stored) as Made);
  } catch {
    return null;
  }
}

export function forgetMade(): void {
  try {
    sessionStorage.removeItem(storageKey);
  } catch {
    // Nothing was kept.
  }
}
