import { once } from "node:events";
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Calls back once the reader of standard output, such as `head`, has enough: that is no failure. */
export function onBrokenPipe(end: () => void): void {
  process.stdout.once("error", end);
  process.stdout.on("error", () => {});
}

/** Writes to standard output, no faster than it is read. */
export async function write(text: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

export function printLine(text: string): Promise<void> {
  return write(`${text}\n`);
}

/** Whether only errors are printed on standard error. */
let isQuiet = false;

/** Silences messages, as `--quiet` asks for. */
export function silenceMessages(): void {
  isQuiet = true;
}

/** Whether standard error is a terminal where a line with the progress is of use. */
export function showsProgress(): boolean {
  return process.stderr.isTTY && !isQuiet;
}

/** Prints what people should know, on standard error. Bun's `console.error` would make it red on a terminal. */
export function printMessage(text: string): void {
  if (!isQuiet) console.warn(text);
}

/** Prints what went wrong, on standard error: red on a terminal. */
export function printError(text: string): void {
  console.warn(styleText("red", text, { stream: process.stderr, validateStream: true }));
}

export const jsonArg = { type: "boolean", description: "Print JSON" } as const;

/**
 * Prints what a command did: as JSON to standard output if that is asked for, otherwise as a sentence to standard error.
 */
export async function report(isJson: boolean | undefined, result: object, sentence: string): Promise<void> {
  if (isJson) await printLine(JSON.stringify(result));
  else printMessage(sentence);
}

/** The same for what scripts read, which is on standard output in both forms. */
export function printResult(isJson: boolean | undefined, result: object, text: string): Promise<void> {
  return printLine(isJson ? JSON.stringify(result) : text);
}

/** Colors a text on a terminal, unless NO_COLOR is set. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout, validateStream: true });
}

/** A text of an event without line breaks, and without what a terminal would obey. */
export function onOneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ");
}
