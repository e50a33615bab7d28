// Unsaved changes of long forms. They outlast a reload of their tab, and end with it or when somebody signs out.

const prefix = "tidings.draft.";

/** An edited form, and the thing as it was when editing began: null if it is new. */
export type Draft<Thing, Form> = { base: Thing | null; form: Form; at: string };

export function loadDraft<Thing, Form>(key: string): Draft<Thing, Form> | null {
  try {
    return JSON.parse(sessionStorage.getItem(prefix + key) ?? "null");
  } catch {
    return null;
  }
}

export function saveDraft<Thing, Form>(key: string, base: Thing | null, form: Form): void {
  const draft: Draft<Thing, Form> = { base, form, at: new Date().toISOString() };
  try {
    sessionStorage.setItem(prefix + key, JSON.stringify(draft));
  } catch {
    // Blocked or full: the changes last until the page is left.
  }
}

export function removeDraft(key: string): void {
  try {
    sessionStorage.removeItem(prefix + key);
  } catch {
    // Blocked: there is none.
  }
}

/** The keys of drafts that begin with a text. */
export function draftKeys(start: string): string[] {
  try {
    return Object.keys(sessionStorage)
      .filter((key) => key.startsWith(prefix + start))
      .map((key) => key.slice(prefix.length));
  } catch {
    return [];
  }
}

export function removeDrafts(): void {
  for (const key of draftKeys("")) removeDraft(key);
}
