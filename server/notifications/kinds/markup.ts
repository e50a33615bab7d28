import type { Token, Tokens } from "marked";
import { decodeEntities, parseMarkdown } from "../../event/markdown.ts";
import { type BoundedWriter, shorten } from "../shorten.ts";

/** The marks before and after a part of a text. */
type Enclosure = readonly [before: string, after: string];

/** How a service writes formatted text. */
export type Markup = {
  /** Makes each character mean itself. */
  escape: (text: string) => string;
  /** Takes from plain text what would notify somebody. */
  disarm: (text: string) => string;
  /** The same for code, and takes from it what would end it. */
  escapeCode: (code: string) => string;
  lineBreak: string;
  /** Between two blocks. */
  gap: string;
  paragraph: Enclosure;
  strong: Enclosure;
  emphasis: Enclosure;
  deleted: Enclosure;
  code: Enclosure;
  codeBlock: Enclosure;
  quote: Enclosure;
  /** Begins each line of a quote. */
  quotePrefix: string;
  list: (isOrdered: boolean) => Enclosure;
  item: Enclosure;
  /** Between two items. */
  itemGap: string;
  /** `number` is null in a list without numbers. */
  bullet: (number: number | null) => string;
  link: (url: string) => Enclosure;
  /** An address that is its own label, if it is written in another way. */
  bareLink?: (url: string) => string;
};

const nothing: Enclosure = ["", ""];
const asIs = (text: string) => text;

/** Text without formatting. */
export const plainText: Markup = {
  escape: asIs,
  disarm: asIs,
  escapeCode: asIs,
  lineBreak: "\n",
  gap: "\n\n",
  paragraph: nothing,
  strong: nothing,
  emphasis: nothing,
  deleted: nothing,
  code: nothing,
  codeBlock: nothing,
  quote: nothing,
  quotePrefix: "> ",
  list: () => nothing,
  item: nothing,
  itemGap: "\n",
  bullet: (number) => (number === null ? "• " : `${number}. `),
  link: (url) => ["", ` (${url})`],
};

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Escapes a text for HTML. Slack escapes the same three characters. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>]/g, (character) => escapes[character]!);
}

/** A link in HTML. */
export function htmlLink(url: string): Enclosure {
  return [`<a href="${escapeHtml(url).replaceAll('"', "&quot;")}">`, "</a>"];
}

/** Escapes a text so that Markdown shows it as it is. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_~|[\]<>#]/g, "\\$&");
}

/** The Markdown that all services understand which understand any. */
export const markdown: Markup = {
  ...plainText,
  escape: escapeMarkdown,
  escapeCode: escapeMarkdown,
  strong: ["**", "**"],
  emphasis: ["_", "_"],
  bullet: (number) => (number === null ? "- " : `${number}. `),
  link: (url) => ["[", `](${url.replaceAll("(", "%28").replaceAll(")", "%29")})`],
};

/** Characters of a text that are parsed, because parsing time grows faster than the text. */
export const markdownMax = 4_000;

/**
 * Writes the first 4,000 characters of Markdown in another markup. HTML is shown as text, images become links (loading
 * them would tell their server who reads the message), and only links to http, https and mailto stay links.
 */
export function writeMarkdown(writer: BoundedWriter, text: string, markup: Markup): void {
  const source = shorten(text, markdownMax);
  const tokens = parseMarkdown(source);
  const converter = new Converter(writer, markup);
  if (tokens === null) converter.text(source);
  else converter.blocks(tokens);
}

class Converter {
  /** Begins the lines within quotes and lists. */
  #prefix = "";
  #isInQuote = false;
  #isInItem = false;
  #isInLink = false;
  /** Inside strong text, links and the like, where not every service allows code or another link. */
  #depth = 0;

  constructor(
    readonly writer: BoundedWriter,
    readonly markup: Markup,
  ) {}

  /** Writes plain text, which may have several lines. */
  text(text: string): void {
    for (const [index, line] of this.markup
      .disarm(text)
      .split(/\r\n|\r|\n/)
      .entries()) {
      if (index > 0) this.#breakLine(this.markup.lineBreak);
      this.writer.write(line, this.markup.escape);
    }
  }

  blocks(tokens: Token[], gap = this.markup.gap): void {
    const visible = tokens.filter(({ type }) => type !== "space" && type !== "def");
    for (const [index, token] of visible.entries()) {
      const follows = visible[index - 1]?.type;
      if (follows !== undefined && follows !== "checkbox") this.#breakLine(gap);
      this.#block(token);
    }
  }

  #block(token: Token) {
    const { writer, markup } = this;
    switch (token.type) {
      case "heading":
        return writer.enclose(markup.paragraph, () => this.#format(markup.strong, token.tokens));
      case "paragraph":
        return writer.enclose(markup.paragraph, () => this.#inlines(token.tokens));
      case "hr":
        return writer.enclose(markup.paragraph, () => writer.write("———"));
      case "blockquote":
        return this.#quote(token as Tokens.Blockquote);
      case "code":
        return writer.enclose(markup.codeBlock, () => writer.write(token.text, markup.escapeCode));
      case "list":
        return this.#list(token as Tokens.List);
      case "table":
        return writer.enclose(markup.paragraph, () => this.#table(token as Tokens.Table));
      case "html":
        return writer.enclose(markup.paragraph, () => this.text(token.raw.trim()));
      default:
        return this.#inline(token);
    }
  }

  #quote({ tokens }: Tokens.Blockquote) {
    // Telegram has no quotes within quotes, and where lines begin quotes there are none in lists.
    if (this.#isInQuote || (this.#isInItem && this.markup.quotePrefix !== "")) return this.blocks(tokens);
    this.#isInQuote = true;
    this.#indent(this.markup.quotePrefix, () =>
      this.writer.enclose(this.markup.quote, () => {
        this.writer.writeWhole(this.markup.quotePrefix);
        this.blocks(tokens);
      }),
    );
    this.#isInQuote = false;
  }

  #list({ items, ordered, start }: Tokens.List): void {
    const { writer, markup } = this;
    const first = Number(start) || 1;
    // The gap between the blocks of an item: none where tags separate them.
    const gap = markup.gap === "" ? "" : markup.lineBreak;
    writer.enclose(markup.list(ordered), () => {
      for (const [index, item] of items.entries()) {
        if (index > 0) this.#breakLine(markup.itemGap);
        writer.enclose(markup.item, () => {
          writer.writeWhole(markup.bullet(ordered ? first + index : null));
          const isNested = this.#isInItem;
          this.#isInItem = true;
          this.#indent(gap === "" ? "" : "   ", () => this.blocks(item.tokens, gap));
          this.#isInItem = isNested;
        });
      }
    });
  }

  #table({ header, rows }: Tokens.Table): void {
    for (const [index, row] of [header, ...rows].entries()) {
      if (index > 0) this.#breakLine(this.markup.lineBreak);
      for (const [column, { tokens }] of row.entries()) {
        if (column > 0) this.writer.write(" | ", this.markup.escape);
        if (index === 0) this.#format(this.markup.strong, tokens);
        else this.#inlines(tokens);
      }
    }
  }

  #inlines(tokens: Token[] | undefined): void {
    for (const token of tokens ?? []) this.#inline(token);
  }

  #inline(token: Token) {
    const { writer, markup } = this;
    switch (token.type) {
      case "strong":
        return this.#format(markup.strong, token.tokens);
      case "em":
        return this.#format(markup.emphasis, token.tokens);
      case "del":
        return this.#format(markup.deleted, token.tokens);
      case "codespan":
        if (this.#depth > 0) return this.text(token.text);
        return writer.enclose(markup.code, () => writer.write(token.text, markup.escapeCode));
      case "br":
        return this.#breakLine(markup.lineBreak);
      case "link":
        return this.#link(token.href, token.text, () => this.#inlines(token.tokens));
      case "image":
        return this.#link(token.href, token.text, () => this.text(token.text || token.href));
      case "text":
        return token.tokens ? this.#inlines(token.tokens) : this.text(decodeEntities(token.raw));
      case "escape":
        return this.text(token.text);
      case "checkbox":
        return writer.write(token.checked ? "☑ " : "☐ ");
      default:
        return this.text(token.raw);
    }
  }

  #format(enclosure: Enclosure, tokens: Token[] | undefined): void {
    this.#depth++;
    this.writer.enclose(enclosure, () => this.#inlines(tokens));
    this.#depth--;
  }

  #link(href: string, label: string, writeLabel: () => void) {
    const url = URL.parse(href);
    const isSafe = url !== null && ["https:", "http:", "mailto:"].includes(url.protocol);
    const isBare = label === href || `mailto:${label}` === href;
    // Plain text needs no link for it.
    const isText = isBare && this.markup.link === plainText.link;
    if (!isSafe || isText || this.#isInLink) return writeLabel();
    if (isBare && this.markup.bareLink) return this.writer.writeWhole(this.markup.bareLink(url.href));
    this.#isInLink = true;
    this.#depth++;
    this.writer.enclose(this.markup.link(url.href), writeLabel);
    this.#depth--;
    this.#isInLink = false;
  }

  #breakLine(gap: string): void {
    // Each line of the gap begins with the prefix.
    this.writer.writeWhole(gap.replaceAll("\n", `\n${this.#prefix}`));
  }

  #indent(prefix: string, inside: () => void): void {
    const outer = this.#prefix;
    this.#prefix += prefix;
    inside();
    this.#prefix = outer;
  }
}
