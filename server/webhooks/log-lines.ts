import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { parseForeignJson, parseJson, withoutBom } from "../http/json.ts";
import { Turns } from "../scheduling/turns.ts";

const bracketOpen = "[".charCodeAt(0);
const lineEnd = "\n".charCodeAt(0);

/**
 * The lines of a log drain: a JSON array, one JSON object, or NDJSON, whatever the content type says.
 *
 * Throws `body-malformed`, and `body-invalid` for too many lines or values.
 */
export async function parseLogLines(bytes: Uint8Array): Promise<unknown[]> {
  const text = withoutBom(bytes);
  const first = text.find((byte) => byte > 0x20);
  if (first === bracketOpen) return atMost((await parseForeignJson(text)) as unknown[]);
  const lines: unknown[] = [];
  const turns = new Turns("strangers");
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf(lineEnd, start);
    const end = found < 0 ? text.length : found;
    const line = text.subarray(start, end);
    start = end + 1;
    if (!line.some((byte) => byte > 0x20)) continue;
    lines.push(parseJson(line, "The line", limits.webhookValues));
    atMost(lines);
    if (turns.isOver) await turns.next();
  }
  return lines;
}

/** Throws `body-invalid` if a request has more lines than one may have. */
export function atMost(lines: unknown[]): unknown[] {
  if (lines.length <= limits.webhookItems) return lines;
  const detail = `A request can have at most ${limits.webhookItems.toLocaleString("en")} log lines or alerts.`;
  throw problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
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
