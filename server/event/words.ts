/** Splits a text into words for searching: folded to lower case, without diacritics, segmented by script. */
export function wordsOf(text: string): string[] {
  if (isAscii(text)) return text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const folded = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().normalize("NFC");
  const words: string[] = [];
  for (const { segment, isWordLike } of segmenter.segment(folded)) {
    if (isWordLike) words.push(...(segment.match(/[\p{L}\p{N}]+/gu) ?? []));
  }
  return words;
}

/**
 * The forms of a folded word of a search. A Greek sigma has another form at the end of a word, so the beginning of a word
 * can end with either.
 */
export function formsOf(word: string): string[] {
  return /[σς]$/.test(word) ? [`${word.slice(0, -1)}σ`, `${word.slice(0, -1)}ς`] : [word];
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII
  return /^[\x00-\x7f]*$/.test(text);
}
