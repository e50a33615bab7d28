import { loadChoice, saveChoice } from "../storage.ts";

/** Searches of this browser to choose from again, the latest first. */
const searchesMax = 8;

const keyOf = (project: string) => `searches.${project}`;

/** As suggestions for an empty search field. */
export function recentSearches(project: string): { text: string; insert: string; kind: string }[] {
  return load(project).map((text) => ({ text, insert: text, kind: "recent" }));
}

export function rememberSearch(project: string, search: string): void {
  const text = search.trim();
  const searches = [text, ...load(project).filter((each) => each !== text)].slice(0, searchesMax);
  saveChoice(keyOf(project), JSON.stringify(searches));
}

function load(project: string): string[] {
  try {
    const stored: unknown = JSON.parse(loadChoice(keyOf(project)) ?? "[]");
    return Array.isArray(stored) ? stored.filter((each) => typeof each === "string") : [];
  } catch {
    // Edited by hand.
    return [];
  }
}
