// Choices of this browser. A browser that blocks storage only forgets them.

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
