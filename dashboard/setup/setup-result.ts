import type { Project } from "../../server/schemas/project.ts";

/** The results of setup: the first project and its API key. */
export type SetupResult = { project: Project; secret: string };

// Kept for this tab until the feed has events, because the server shows the key only once and a reload, or opening the
// feed before the first event, would lose it.
const storageKey = "tidings.made";

export function saveSetupResult(result: SetupResult): void {
  try {
    sessionStorage.setItem(storageKey, JSON.stringify(result));
  } catch {
    // Storage is blocked: a reload loses the key, but another can be created.
  }
}

export function loadSetupResult(): SetupResult | null {
  try {
    const stored = sessionStorage.getItem(storageKey);
    return stored === null ? null : (JSON.parse(stored) as SetupResult);
  } catch {
    return null;
  }
}

export function clearSetupResult(): void {
  try {
    sessionStorage.removeItem(storageKey);
  } catch {
    // Storage is blocked, so nothing was stored.
  }
}
