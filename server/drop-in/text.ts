import { limits } from "../core/limits.ts";

// C0 controls, DEL and C1 controls. The second pattern leaves tab, line feed and carriage return.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
const control = /[\u0000-\u001f\u007f-\u009f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
const controlInLines = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** A text of one line as events may contain it: line ends and tabs become spaces, what isn't allowed U+FFFD. */
export function cleanLine(text: string): string {
  return text
    .replace(/\r\n|[\r\n\t]/g, " ")
    .replace(control, "\ufffd")
    .toWellFormed();
}

/** The same for a text that may have several lines. */
export function cleanLines(text: string): string {
  return text.replace(controlInLines, "\ufffd").toWellFormed();
}

/** A text's first `max` characters (code points). If it has more, the last one is "…". */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = 0;
  let endOfShort = 0;
  for (let characters = 0; end < text.length && characters < max; characters++) {
    endOfShort = end;
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  }
  return end >= text.length ? text : `${text.slice(0, endOfShort)}…`;
}

/** An event's name or another text of one line; undefined for what isn't a text. */
export function lineOf(value: unknown, max: number = limits.nameCharacters): string | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : cut(cleanLine(text), max);
}

/** A text, or a number as text, since other services accept numbers as IDs; otherwise undefined. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : undefined;
}

/** The same, but undefined for an empty text too. */
export function filledText(value: unknown): string | undefined {
  return textOf(value) || undefined;
}

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object as it is, and an empty one for anything else. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
