/** Applies a change. Fields that it leaves out, or that are undefined in it, stay as they are. */
export function withChange<Before extends object>(
  before: Before,
  change: { [Field in keyof Before]?: Before[Field] | undefined },
): Before {
  const set = Object.entries(change).filter(([, value]) => value !== undefined);
  return { ...before, ...Object.fromEntries(set) };
}
