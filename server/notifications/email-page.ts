/** The look of every email: a card with a footer below it, with inline styles, light and dark. */

/** Classes are only for dark mode. Mail programs that drop style sheets show the inline, light styles. */
const darkStyles = `
  @media (prefers-color-scheme: dark) {
    .page { background: #1a1917 !important; }
    .card { background: #242320 !important; border-color: #3a3834 !important; }
    .strong { color: #f2efea !important; }
    .urgent { color: #ff8a80 !important; }
    .soft { color: #a8a29a !important; }
    .line { border-color: #3a3834 !important; }
    .icon { background: #33312d !important; }
    .button { background: #f2efea !important; color: #1a1917 !important; }
  }`;

const typeface =
  "font-family: ui-sans-serif, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

type Page = {
  title: string;
  /** HTML. */
  card: string;
  footer: string;
  /** In pixels, on screens that are wide enough. */
  width?: number;
};

/** Renders an email as HTML. */
export function emailPage({ title, card, footer, width = 520 }: Page): string {
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <meta name="color-scheme" content="light dark">
  <meta name="supported-color-schemes" content="light dark">
  <title>${Bun.escapeHTML(oneLine(title))}</title>
  <style>${darkStyles}
  </style>
</head>
<body class="page" style="margin: 0; padding: 0; background: #f7f5f2">
  <table class="page" role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background: #f7f5f2; ${typeface}"><tr><td align="center" style="padding: 28px 14px">
    <table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width: ${width}px; text-align: left"><tr><td class="card" style="padding: 24px; background: #ffffff; border: 1px solid #e6e1da; border-radius: 12px">${card}
    </td></tr><tr><td class="soft" style="padding: 16px 25px 0; font-size: 12px; line-height: 18px; color: #77716a">${footer}</td></tr></table>
  </td></tr></table>
</body>
</html>
`;
}

/** A link that looks like a button, as HTML. */
export function emailButton(text: string, url: string): string {
  return `<div style="margin-top: 22px"><a class="button" href="${Bun.escapeHTML(url)}" style="display: inline-block; padding: 9px 16px; background: #26241f; color: #ffffff; border-radius: 8px; font-size: 14px; line-height: 20px; font-weight: 600; text-decoration: none">${Bun.escapeHTML(text)}</a></div>`;
}

/** Replaces line breaks and other control characters, which could end a header, with spaces. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}
