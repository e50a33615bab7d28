import type { UserProperties } from "./user-rule.ts";

/**
 * Properties in which applications keep a person's name, in lower case without "_", the best first. A search looks for
 * those that end with "name" or "email" (search/known-texts.ts).
 */
const whole = ["name", "fullname", "displayname"];
const [first, last] = ["firstname", "lastname"];
const others = ["username", "email"];

/** What people call a user, by the properties: the name, or else the address; null if they have neither. */
export function userName(properties: UserProperties): string | null {
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "string" && value.trim() !== "")
      texts.set(name.toLowerCase().replaceAll("_", ""), value.trim());
  }
  const named = whole.map((name) => texts.get(name)).find((text) => text !== undefined);
  const parts = [texts.get(first), texts.get(last)].filter((text) => text !== undefined).join(" ");
  return (
    named ?? (parts || (others.map((name) => texts.get(name)).find((text) => text !== undefined) ?? null))
  );
}
