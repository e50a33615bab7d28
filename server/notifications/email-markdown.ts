import { escapeHtml, htmlLink, type Markup, markdownMax, plainText, writeMarkdown } from "./kinds/markup.ts";
import { BoundedWriter } from "./shorten.ts";

const code = "font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px";
const block = "margin: 0 0 10px";

/** Markdown as HTML for mail programs, which know few styles and drop style sheets. */
const emailHtml: Markup = {
  ...plainText,
  escape: escapeHtml,
  escapeCode: escapeHtml,
  lineBreak: "<br>",
  gap: "",
  paragraph: [`<p style="${block}">`, "</p>"],
  strong: ["<strong>", "</strong>"],
  emphasis: ["<em>", "</em>"],
  deleted: ["<del>", "</del>"],
  code: [`<code style="${code}">`, "</code>"],
  codeBlock: [
    `<pre class="icon" style="${block}; padding: 8px 10px; background: #f3f0eb; border-radius: 6px; white-space: pre-wrap; word-break: break-word; ${code}">`,
    "</pre>",
  ],
  quote: [
    `<blockquote class="line" style="${block}; padding-left: 12px; border-left: 3px solid #e6e1da">`,
    "</blockquote>",
  ],
  quotePrefix: "",
  list: (isOrdered) => {
    const tag = isOrdered ? "ol" : "ul";
    return [`<${tag} style="${block}; padding-left: 22px">`, `</${tag}>`];
  },
  item: ["<li>", "</li>"],
  itemGap: "",
  bullet: () => "",
  link: htmlLink,
};

/** A description as HTML. One that is too long to be parsed is shown as it is, in full. */
export function markdownHtml(text: string): string {
  if (text.length > markdownMax) return `<div style="white-space: pre-wrap">${escapeHtml(text)}</div>`;
  return written(text, emailHtml);
}

/** The same as plain text. */
export function markdownText(text: string): string {
  return text.length > markdownMax ? text : written(text, plainText);
}

function written(text: string, markup: Markup): string {
  const writer = new BoundedWriter(Number.POSITIVE_INFINITY);
  writeMarkdown(writer, text, markup);
  return writer.text;
}
