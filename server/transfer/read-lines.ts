import { limits } from "../limits.ts";

/** A record of a file: a line of JSON or a row. `fault` says why it can't be read. */
export type SourceRecord = {
  /** Counts from 1, without blank lines and the header. */
  number: number;
  /** As in the file, with its line break. */
  text: string;
  value: unknown;
  fault?: string;
};

/** Reads lines of JSON. */
export async function* readJsonLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRecord> {
  const decoder = new TextDecoder();
  let number = 0;
  let rest = "";
  function recordOf(line: string): SourceRecord {
    number++;
    const text = `${line}\n`;
    if (line.length > limits.eventBytes)
      return { number, text, value: null, fault: `The line is longer than ${limits.eventBytes} bytes.` };
    try {
      return { number, text, value: JSON.parse(line) };
    } catch (error) {
      return { number, text, value: null, fault: `The line is not JSON: ${(error as Error).message}.` };
    }
  }
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line.trim() !== "") yield recordOf(line);
  }
  rest += decoder.decode();
  if (rest.trim() !== "") yield recordOf(rest);
}
