/** The candidate that is most likely meant by a misspelt word, or null where none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  const folded = fold(word);
  let best: string | null = null;
  // A word that would have to be replaced as a whole is none that was misspelt.
  let bestDistance = Math.min(Math.max(2, Math.floor(word.length / 3)) + 1, folded.length);
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

/** Levenshtein's distance: insertions, deletions and substitutions, each for one. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
