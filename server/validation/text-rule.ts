// C0 controls, DEL and C1 controls. The second pattern allows tab, line feed and carriage return.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const control = /[\u0000-\u001f\u007f-\u009f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const controlInLines = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;

export type TextRule = {
  /** Maximum number of Unicode code points. */
  max: number;
  /** Allows tabs and line breaks. */
  lines?: boolean;
  /** Requires a character that isn't white space. */
  filled?: boolean;
};

/** What is wrong with a text, as the second half of a sentence ("must not be blank"), or null. */
export function faultInText(text: string, rule: TextRule): string | null {
  if (text.length > rule.max) {
    const count = codePoints(text);
    if (count > rule.max) {
      return `must have at most ${rule.max.toLocaleString("en")} characters, not ${count.toLocaleString("en")}`;
    }
  }
  if (rule.filled && text.trim() === "") return "must not be blank";
  const found = (rule.lines ? controlInLines : control).exec(text);
  if (found) return `must not contain control characters (found ${codePointName(found[0])})`;
  if (!text.isWellFormed()) return "must be valid Unicode (found a lone surrogate)";
  return null;
}

function codePoints(text: string): number {
  let pairs = 0;
  for (let at = 1; at < text.length; at++) {
    if (isTrailing(text.charCodeAt(at)) && isLeading(text.charCodeAt(at - 1))) pairs++;
  }
  return text.length - pairs;
}

const isLeading = (unit: number) => (unit & 0xfc00) === 0xd800;
const isTrailing = (unit: number) => (unit & 0xfc00) === 0xdc00;

function codePointName(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}
