/** A split by groups, as texts: `group.company`, or `group.company:plan` for a property of theirs. */
export function groupSplitOf(split: string): { type: string; key?: string } | null {
  const [, type, key] = /^group\.([^:]*)(?::(.*))?$/s.exec(split) ?? [];
  if (type === undefined) return null;
  return key === undefined ? { type } : { type, key };
}
