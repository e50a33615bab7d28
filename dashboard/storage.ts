// Preferences of this browser, shared by its tabs. If storage is blocked, they are lost when the tab closes.

export function loadChoice(key: string): string | null {
  try {
    return localStorage.getItem(`tidings.${key}`);
  } catch {
    return null;
  }
}

export function saveChoice(key: string, value: string): void {
  try {
    localStorage.setItem(`tidings.${key}`, value);
  } catch {
    // Blocked or full: the choice holds until the tab closes.
  }
}

/** Calls the listener when another tab saves a choice. */
export function onChoiceChanged(listener: (key: string) => void): void {
  addEventListener("storage", ({ key }) => {
    if (key?.startsWith("tidings.")) listener(key.slice("tidings.".length));
  });
}
