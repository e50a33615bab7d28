import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { parseForeignJson, parseJson, skipWhitespace, valuesIn, withoutBom } from "../http/json.ts";
import { type TurnOwner, Turns } from "../scheduling/turns.ts";

const bracketOpen = "[".charCodeAt(0);
const lineEnd = "\n".charCodeAt(0);
/** White space that is skipped without yielding. */
const stepBytes = 65_536;

/**
 * The lines of a log drain: a JSON array, one JSON object, or NDJSON, whatever the content type says.
 *
 * Throws `body-malformed`, and `body-invalid` for too many lines or values.
 */
export async function parseLogLines(bytes: Uint8Array, owner: TurnOwner): Promise<unknown[]> {
  const text = withoutBom(bytes);
  const turns = new Turns(owner);
  let start = await skipBlank(text, 0, turns);
  if (text[start] === bracketOpen) return atMost((await parseForeignJson(text, owner)) as unknown[]);
  const lines: unknown[] = [];
  let values = 0;
  while (start < text.length) {
    const found = text.indexOf(lineEnd, start);
    const end = found < 0 ? text.length : found;
    const line = text.subarray(start, end);
    values += valuesIn(line);
    if (values > limits.foreignBatchValues)
      throw tooMuch(`The lines hold more than ${limits.foreignBatchValues.toLocaleString("en")} values.`);
    lines.push(parseJson(line, "The line", limits.webhookValues));
    atMost(lines);
    if (turns.isOver) await turns.next();
    start = await skipBlank(text, end, turns);
  }
  return lines;
}

/** Index of the next line with something in it. */
async function skipBlank(text: Uint8Array, start: number, turns: Turns): Promise<number> {
  for (let at = start; ; ) {
    const until = Math.min(at + stepBytes, text.length);
    at = skipWhitespace(text.subarray(0, until), at);
    if (at < until || at === text.length) return at;
    if (turns.isOver) await turns.next();
  }
}

/** Throws `body-invalid` if a request has more lines than one may have. */
export function atMost(lines: unknown[]): unknown[] {
  if (lines.length <= limits.webhookItems) return lines;
  throw tooMuch(
    `A request can have at most ${limits.webhookItems.toLocaleString("en")} log lines or alerts.`,
  );
}

function tooMuch(detail: string): Error {
  return problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
}

const fence = "````";

/**
 * What mappings of log lines can use besides a line: `@text`, its message if it doesn't fit into a name, in a code
 * block, so that nothing of it is Markdown.
 */
export function longText(message: unknown): Record<string, string> {
  if (typeof message !== "string") return {};
  if (message.length <= limits.nameCharacters && !message.trim().includes("\n")) return {};
  const room = limits.descriptionCharacters - 2 * (fence.length + 1);
  return { text: `${fence}\n${message.slice(0, room).replaceAll(fence, "''''")}\n${fence}` };
}
