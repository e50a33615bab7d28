/** How texts call groups, and whoever an analysis counts. */

/** The groups of a type: "Companies", or the type with a capital. */
export function groupsTitle(type: string): string {
  return type === "company" ? "Companies" : type.charAt(0).toLocaleUpperCase() + type.slice(1);
}

/** Whom an analysis counts, as a title: "Users" or, with a type of groups, "Companies". */
export function countedTitle(per: string | undefined): string {
  return per === undefined ? "Users" : groupsTitle(per);
}

/** The same within a sentence: "user" and "users", "company" and "companies", "team" and "teams". */
export function countedWords(per: string | undefined): [one: string, several: string] {
  if (per === undefined) return ["user", "users"];
  return [per, per === "company" ? "companies" : `${per}s`];
}
