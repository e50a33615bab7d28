import { useState } from "react";
import type { UserInList } from "../../server/schemas/user.ts";
import { loadChoice, saveChoice } from "../storage.ts";

/** Columns that are shown until others are chosen. */
const defaultColumns = 2;

/** The properties that some of these users have, most frequent first, and which are shown as columns. */
export function useColumns(project: string, users: readonly UserInList[]) {
  const key = `user-columns.${project}`;
  const [chosen, setChosen] = useState(() => readChoice(key));
  const counts = new Map<string, number>();
  for (const { properties } of users)
    for (const name of Object.keys(properties)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const frequent = [...counts].sort(([, a], [, b]) => b - a).map(([name]) => name);
  const known = [...new Set([...frequent, ...(chosen ?? [])])];
  const shown = chosen ?? frequent.slice(0, defaultColumns);
  return {
    known,
    shown,
    toggle(name: string) {
      const next = shown.includes(name) ? shown.filter((each) => each !== name) : [...shown, name];
      setChosen(next);
      saveChoice(key, JSON.stringify(next));
    },
  };
}

function readChoice(key: string): string[] | null {
  try {
    const names: unknown = JSON.parse(loadChoice(key) ?? "null");
    return Array.isArray(names) && names.every((name) => typeof name === "string") ? names : null;
  } catch {
    return null;
  }
}
