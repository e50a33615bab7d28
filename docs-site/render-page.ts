import { Marked } from "marked";
import { highlight } from "./highlight.ts";
import { escapeHtml } from "./html.ts";
import { type Page, resolveLink } from "./pages.ts";

/** Returns the HTML of a page's text. */
export function renderPage(page: Page, pages: Page[]): string {
  const ids = page.headings.values();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const { id } = ids.next().value!;
        return headingHtml(id, depth, this.parser.parseInline(tokens));
      },
      code: ({ text, lang }) => highlight(text, lang),
      link({ href, tokens }) {
        const target = resolveLink(page, href, pages);
        const text = this.parser.parseInline(tokens);
        // `npm run check` reports links that lead nowhere.
        return "fault" in target ? text : `<a href="${escapeHtml(target.href)}">${text}</a>`;
      },
      image({ href, text }) {
        const target = resolveLink(page, href, pages);
        return "fault" in target
          ? ""
          : `<img src="${escapeHtml(target.href)}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
      table({ header, rows }) {
        const row = (cells: typeof header, tag: string) =>
          `<tr>${cells.map(({ align, tokens }) => `<${tag}${align === "right" ? ' class="number"' : ""}>${this.parser.parseInline(tokens)}</${tag}>`).join("")}</tr>`;
        return tableHtml(row(header, "th"), rows.map((cells) => row(cells, "td")).join(""));
      },
      // Comments mark the places of generated tables. Pages have no other HTML.
      html: () => "",
    },
  });
  return marked.parser(page.tokens);
}

/** Returns the HTML of a text from the API description. */
export function renderText(markdown: string): string {
  return new Marked({ renderer: { html: ({ text }) => escapeHtml(text) } }).parse(markdown, { async: false });
}

export function headingHtml(id: string, depth: number, html: string): string {
  if (depth === 1) return `<h1>${html}</h1>\n`;
  return `<h${depth} id="${id}">${html} <a class="anchor" href="#${id}" aria-label="Link to this section">#</a></h${depth}>\n`;
}

/** Wide tables scroll by themselves, also with the keyboard. */
export function tableHtml(head: string, body: string): string {
  return `<div class="table" tabindex="0"><table><thead>${head}</thead><tbody>${body}</tbody></table></div>\n`;
}
