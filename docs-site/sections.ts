import type { Token } from "marked";
import type { Section } from "./layout.ts";
import { type Page, plainText } from "./pages.ts";

/** Returns the sections of a page as plain text, for search. The first one is the text before the first heading. */
export function sectionsOf(page: Page): Section[] {
  const sections: Section[] = [{ id: "", title: page.title, text: "" }];
  const headings = page.headings.values();
  for (const token of page.tokens) {
    if (token.type === "heading") {
      const { id, text, depth } = headings.next().value!;
      if (depth > 1) sections.push({ id, title: text, text: "" });
    } else sections.at(-1)!.text += ` ${blockText(token)}`;
  }
  return sections;
}

function blockText(token: Token): string {
  switch (token.type) {
    case "list":
      return token.items.map((item: Token) => plainText([item])).join(" ");
    case "table":
      return [token.header, ...token.rows]
        .flatMap((row: { tokens: Token[] }[]) => row.map((cell) => plainText(cell.tokens)))
        .join(" ");
    case "html":
    case "space":
      return "";
    default:
      return plainText([token]);
  }
}
