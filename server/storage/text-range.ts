/** The first text after all texts with a prefix, in the order of code points. */
export function endOfPrefix(prefix: string): string {
  const points = [...prefix].map((character) => character.codePointAt(0)!);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop()!;
  // Skip the surrogates, which are not characters.
  points.push(last === 0xd7ff ? 0xe000 : last + 1);
  return String.fromCodePoint(...points);
}
