/** The server's limits, in characters (Unicode code points); of `tags`, how many. */
export const eventLimits = {
  name: 200,
  userId: 200,
  description: 10_000,
  tags: 50,
  tagKey: 64,
  tagValue: 1_000,
};

// C0 controls, DEL and C1 controls. The second pattern leaves tab, line feed and carriage return. Lone surrogates are
// in the category Cs.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
const notInLine = /[\u0000-\u001f\u007f-\u009f]|\p{Cs}/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
const notInLines = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|\p{Cs}/gu;

/** A text as the server accepts it for a name or a key: cut to `max` characters, on one line. */
export function fitLine(text: string, max: number): string {
  return cut(text.replace(/\s+/g, " ").replace(notInLine, "\ufffd"), max);
}

/** The same for a text that may have several lines: a tag's value or a description. */
export function fitLines(text: string, max: number): string {
  return cut(text.replace(notInLines, "\ufffd"), max);
}

/**
 * A Markdown code block, in which nothing of the text is Markdown.
 *
 * @param max - characters that the block may have, at least 30
 */
export function codeBlock(text: string, { language = "", max = eventLimits.description } = {}): string {
  const longestFence = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([fence]) => fence.length));
  const fence = "`".repeat(longestFence + 1);
  const frame = 2 * (fence.length + 1) + language.length;
  // A text with such a fence is no stack trace; its quotes can go.
  if (frame > max / 2) return codeBlock(text.replaceAll("`", "'"), { language, max });
  return `${fence}${language}\n${fitLines(text, max - frame)}\n${fence}`;
}

function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const characters = Array.from(text.slice(0, 2 * max + 2));
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}
