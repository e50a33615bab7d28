import { problem } from "./problems.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a request's JSON.
 *
 * Throws the problems `content-type-unsupported`, `body-too-large` and `body-malformed`.
 */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const type = request.headers.get("content-type");
  if (type !== "application/json" && !isJson(type)) {
    throw problem("content-type-unsupported", {
      detail: `Send JSON with the header "content-type: application/json"${type ? ` instead of "${type.slice(0, 100)}"` : ""}.`,
    });
  }
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) throw tooLarge(bytesMax);
  const bytes = await request.bytes();
  if (bytes.length > bytesMax) throw tooLarge(bytesMax);
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw problem("body-malformed", { detail: "The body must be UTF-8, and has bytes that are not." });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.trim() === "")
      throw problem("body-malformed", { detail: "The body is empty. Send a JSON object." });
    throw problem("body-malformed", { detail: `The body is not valid JSON: ${(error as Error).message}.` });
  }
}

function isJson(type: string | null): boolean {
  return type !== null && /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

function tooLarge(bytesMax: number) {
  return problem("body-too-large", {
    detail: `The body must have at most ${bytesMax.toLocaleString("en")} bytes.`,
  });
}
