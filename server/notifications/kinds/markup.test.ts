import { describe, expect, test } from "bun:test";
import { BoundedWriter } from "../shorten.ts";
import { escapeMarkdown, type Markup, plainText, writeMarkdown } from "./markup.ts";
import { matrixHtml } from "./matrix.ts";
import { mrkdwn } from "./slack.ts";
import { telegramHtml } from "./telegram.ts";

function convert(text: string, markup: Markup, max = 10_000): string {
  const writer = new BoundedWriter(max);
  writeMarkdown(writer, text, markup);
  return writer.text;
}

describe("Markdown becomes", () => {
  const cases: [markdown: string, slack: string, telegram: string, matrix: string, plain: string][] = [
    [
      "**a** *b* ~~c~~ `d`",
      "*a* _b_ ~c~ `d`",
      "<b>a</b> <i>b</i> <s>c</s> <code>d</code>",
      "<p><strong>a</strong> <em>b</em> <del>c</del> <code>d</code></p>",
      "a b c d",
    ],
    [
      "# Title\n\none\ntwo",
      "*Title*\n\none\ntwo",
      "<b>Title</b>\n\none\ntwo",
      "<p><strong>Title</strong></p><p>one<br>two</p>",
      "Title\n\none\ntwo",
    ],
    [
      "[a|b](https://x.example/?a|b&c) <https://y.example/>",
      "<https://x.example/?a%7Cb&amp;c|a|b> <https://y.example/|https://y.example/>",
      '<a href="https://x.example/?a|b&amp;c">a|b</a> <a href="https://y.example/">https://y.example/</a>',
      '<p><a href="https://x.example/?a|b&amp;c">a|b</a> <a href="https://y.example/">https://y.example/</a></p>',
      "a|b (https://x.example/?a|b&c) https://y.example/",
    ],
    [
      "[x](javascript:alert(1)) [y](tg://user?id=1) ![alt](https://x.example/a.png)",
      "x y <https://x.example/a.png|alt>",
      'x y <a href="https://x.example/a.png">alt</a>',
      '<p>x y <a href="https://x.example/a.png">alt</a></p>',
      "x y alt (https://x.example/a.png)",
    ],
    [
      "<b>&lt;i&gt;</b> & <!channel> @ada a@x.example",
      "&lt;b&gt;&lt;i&gt;&lt;/b&gt; &amp; &lt;!channel&gt; @ada <mailto:a@x.example|a@x.example>",
      '&lt;b&gt;&lt;i&gt;&lt;/b&gt; &amp; &lt;!channel&gt; @\u2060ada <a href="mailto:a@x.example">a@x.example</a>',
      '<p>&lt;b&gt;&lt;i&gt;&lt;/b&gt; &amp; &lt;!channel&gt; @ada <a href="mailto:a@x.example">a@x.example</a></p>',
      "<b><i></b> & <!channel> @ada a@x.example",
    ],
    [
      "1. one\n2. two\n   - [x] done\n   - `**`",
      "1. one\n2. two\n   • ☑ done\n   • `**`",
      "1. one\n2. two\n   • ☑ done\n   • <code>**</code>",
      "<ol><li>one</li><li>two<ul><li>☑ done</li><li><code>**</code></li></ul></li></ol>",
      "1. one\n2. two\n   • ☑ done\n   • **",
    ],
    [
      "> one\n> two\n>> three\n\nafter",
      "> one\n> two\n> \n> three\n\nafter",
      "<blockquote>one\ntwo\n\nthree</blockquote>\n\nafter",
      "<blockquote><p>one<br>two</p><p>three</p></blockquote><p>after</p>",
      "> one\n> two\n> \n> three\n\nafter",
    ],
    [
      "- > one",
      "• one",
      "• <blockquote>one</blockquote>",
      "<ul><li><blockquote><p>one</p></blockquote></li></ul>",
      "• one",
    ],
    [
      "```sh\nls <a>\n`x`\n```",
      "```\nls &lt;a&gt;\n'x'\n```",
      "<pre>ls &lt;a&gt;\n`x`</pre>",
      "<pre><code>ls &lt;a&gt;\n`x`</code></pre>",
      "ls <a>\n`x`",
    ],
    [
      "|a|b|\n|-|-|\n|1|**2**|\n\n---",
      "*a* | *b*\n1 | *2*\n\n———",
      "<b>a</b> | <b>b</b>\n1 | <b>2</b>\n\n———",
      "<p><strong>a</strong> | <strong>b</strong><br>1 | <strong>2</strong></p><p>———</p>",
      "a | b\n1 | 2\n\n———",
    ],
    // Telegram allows no code within other formatting, and nobody allows links within links.
    [
      "**a `b`** [![c](https://x.example/c.png)](https://y.example/)",
      "*a b* <https://y.example/|c>",
      '<b>a b</b> <a href="https://y.example/">c</a>',
      '<p><strong>a b</strong> <a href="https://y.example/">c</a></p>',
      "a b c (https://y.example/)",
    ],
  ];
  for (const [markdown, slack, telegram, matrix, plain] of cases) {
    test(`what shows the same: ${JSON.stringify(markdown)}`, () => {
      expect(convert(markdown, mrkdwn)).toBe(slack);
      expect(convert(markdown, telegramHtml)).toBe(telegram);
      expect(convert(markdown, matrixHtml)).toBe(matrix);
      expect(convert(markdown, plainText)).toBe(plain);
    });
  }
});

test("text that is nested too deeply is shown as it is", () => {
  const deep = `${"> ".repeat(100)}<x>`;
  expect(convert(deep, telegramHtml)).toBe(deep.replaceAll(">", "&gt;").replace("<", "&lt;"));
});

test("what is cut is closed", () => {
  const text = "**bold and *italic* text** and [a link](https://x.example/)";
  expect(convert(text, telegramHtml, 25)).toBe("<b>bold and <i>i…</i></b>");
  for (let max = 1; max < 120; max++) {
    const cut = convert(text, telegramHtml, max);
    expect(cut.length).toBeLessThanOrEqual(max);
    expect(cut.match(/<[bia]\b/g)?.length).toBe(cut.match(/<\/[bia]>/g)?.length);
  }
});

test("text is escaped so that Markdown shows it", () => {
  const text = "a_b *c* `d` [e](f) <@1> ~g~ |h| # \\";
  expect(escapeMarkdown(text)).toBe("a\\_b \\*c\\* \\`d\\` \\[e\\](f) \\<@1\\> \\~g\\~ \\|h\\| \\# \\\\");
});
