/**
 * The candidate closest to a misspelt word, or null if none is close.
 *
 * @param mistakes - letters that may be wrong
 */
export function nearest(
  word: string,
  candidates: Iterable<string>,
  mistakes = Math.max(2, Math.floor(word.length / 3)),
): string | null {
  const folded = fold(word);
  let best: string | null = null;
  // If every letter would have to change, it isn't a misspelling.
  let bestDistance = Math.min(mistakes + 1, folded.length);
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > bestDistance + 2) continue;
    const distance = editDistance(folded, fold(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function fold(word: string): string {
  return word.toLowerCase().replace(/[_-]/g, "");
}

/** Edits between two words: an insertion, a deletion, a substitution, and two letters that changed places cost one each. */
function editDistance(a: string, b: string): number {
  let last: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwapped = i > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next.push(
        Math.min(
          next[j - 1]! + 1,
          row[j]! + 1,
          row[j - 1]! + same,
          isSwapped ? last[j - 2]! + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    last = row;
    row = next;
  }
  return row[b.length]!;
}
