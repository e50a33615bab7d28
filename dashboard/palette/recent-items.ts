import { loadChoice, saveChoice } from "../storage.ts";
import type { Item } from "./items.ts";

/** A recent choice of this browser in a project. */
type Chosen = Pick<Item, "id" | "label" | "detail">;

const recentMax = 5;

const keyOf = (project: string) => `palette.${project}`;

export function recentlyChosen(project: string): Chosen[] {
  try {
    const stored: unknown = JSON.parse(loadChoice(keyOf(project)) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isChosen) : [];
  } catch {
    // Edited by hand.
    return [];
  }
}

export function rememberChosen(project: string, { id, label, detail }: Chosen): void {
  const others = recentlyChosen(project).filter((each) => each.id !== id);
  const chosen = [{ id, label, ...(detail !== undefined && { detail }) }, ...others].slice(0, recentMax);
  saveChoice(keyOf(project), JSON.stringify(chosen));
}

function isChosen(value: unknown): value is Chosen {
  const { id, label, detail } = (value ?? {}) as Record<string, unknown>;
  return (
    typeof id === "string" &&
    typeof label === "string" &&
    (detail === undefined || typeof detail === "string")
  );
}
