import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { lexer, type Token } from "marked";

const root = join(import.meta.dir, "../..");

/** A block of code in the documentation. */
export type Example = {
  /** Page and number of the block, such as `docs/api.md 3`. */
  place: string;
  page: string;
  language: string;
  text: string;
  /** What the comment before it says, such as `not run: needs Docker`. Null if there is none. */
  note: string | null;
};

const readmes = [
  "clients/README.md",
  "clients/python/README.md",
  "clients/go/README.md",
  "integrations/github-action/README.md",
  "integrations/n8n/README.md",
];

/** Returns the blocks of code of all pages. Those of the README of `client/` are tested there. */
export function docExamples(): Example[] {
  const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((page) => page.endsWith(".md"))
    .map((page) => `docs/${page}`);
  return [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    ...readmes,
    ...pages.toSorted(),
  ].flatMap((page) => {
    const examples: Example[] = [];
    collect(lexer(readFileSync(join(root, page), "utf8")), page, examples);
    return examples;
  });
}

function collect(tokens: Token[], page: string, examples: Example[]): void {
  let note: string | null = null;
  for (const token of tokens) {
    if (token.type === "code") {
      const place = `${page} ${examples.length + 1}`;
      examples.push({ place, page, language: token.lang ?? "", text: token.text as string, note });
    }
    if (token.type !== "space")
      note = token.type === "html" ? (/^<!-- (.+) -->\s*$/.exec(token.raw)?.[1] ?? null) : null;
    if ("tokens" in token && token.tokens) collect(token.tokens, page, examples);
    if (token.type === "list") collect(token.items as Token[], page, examples);
  }
}

/** Returns the code in the first column of a page's tables. */
export function tableCodes(page: string): string[] {
  return lexer(readFileSync(join(root, page), "utf8")).flatMap((token) => {
    if (token.type !== "table") return [];
    const cells = (token.rows as { tokens: Token[] }[][]).flatMap(([first]) => first?.tokens ?? []);
    return cells.flatMap((cell) => (cell.type === "codespan" ? [cell.text as string] : []));
  });
}
