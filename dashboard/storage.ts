// Choices of this browser, shared by its tabs. A browser that blocks storage only forgets them.

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(`tidings.${key}`);
  } catch {
    return null;
  }
}

export function keep(key: string, value: string): void {
  try {
    localStorage.setItem(`tidings.${key}`, value);
  } catch {
    // Blocked or full: the choice holds until the tab closes.
  }
}

/** Tells of choices made in another tab. */
export function onChoice(listener: (key: string) => void): void {
  addEventListener("storage", ({ key }) => {
    if (key?.startsWith("tidings.")) listener(key.slice("tidings.".length));
  });
}
