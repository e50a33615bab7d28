type TypeOfGroups = { type: string };

/** The types whose pages are linked. Where there are none yet, the page of companies says how to save some. */
export function shownTypes(types: readonly TypeOfGroups[] | undefined): readonly TypeOfGroups[] {
  return types?.length ? types : [{ type: "company" }];
}

/** What people call a group: its name, if it has one. */
export function groupName({
  id,
  properties,
}: {
  id: string;
  properties: Record<string, string | number | boolean | null>;
}): string {
  const { name } = properties;
  return typeof name === "string" && name.trim() !== "" ? name : id;
}
