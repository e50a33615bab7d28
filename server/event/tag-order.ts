/**
 * An event's tags as its channel's settings show them: those that come first, in their order, then the others as they
 * were sent.
 *
 * @param first - keys
 */
export function tagsInOrder(
  tags: Readonly<Record<string, string>>,
  first: readonly string[],
): [key: string, value: string][] {
  const all = Object.entries(tags);
  if (first.length === 0) return all;
  const placeOf = ([key]: [string, string]) => (first.includes(key) ? first.indexOf(key) : first.length);
  return all.sort((a, b) => placeOf(a) - placeOf(b));
}
