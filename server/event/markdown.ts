import { lexer, type Token, type Tokens } from "marked";

const depthMax = 24;
/** A line that begins with this many quote or list markers was not written by a person. */
const deepLine = new RegExp(`^(?:[ \\t]*(?:>|[-*+]|\\d{1,9}[.)])){${depthMax},}`, "m");

/**
 * Parses the Markdown of a description (GitHub's dialect, in which a line break is one). Null for text nested so deeply
 * that it would overflow the stack of the parser or of the browser; show such text as it is.
 */
export function parseMarkdown(text: string): Token[] | null {
  if (deepLine.test(text)) return null;
  try {
    const tokens = lexer(text, { gfm: true, breaks: true });
    return isDeep(tokens, depthMax) ? null : tokens;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function isDeep(tokens: Token[], levels: number): boolean {
  if (levels === 0) return true;
  return tokens.some((token) => {
    const { items = [] } = token as Partial<Tokens.List>;
    return ("tokens" in token && isDeep(token.tokens ?? [], levels - 1)) || isDeep(items, levels - 1);
  });
}

const entities: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
  nbsp: "\u00a0",
};

/** Decodes the few entities that Markdown authors use; others stay as typed. */
export function decodeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => entities[name]!);
}
