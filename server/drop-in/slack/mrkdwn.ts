/**
 * Slack's markup (https://docs.slack.dev/messaging/formatting-message-text): links, mentions and dates in angle
 * brackets, `&lt;`, `&gt;` and `&amp;`, and marks that differ from Markdown's.
 */

const bracketed = /<([^<>|]+)(?:\|([^<>]*))?>/g;
const code = /(```[\s\S]*?```|`[^`\n]*`)/;
const mentionOfAll = /<!(?:channel|here|everyone)(?:\|[^<>]*)?>/;

/** Whether a text mentions everybody. */
export function mentionsAll(text: string): boolean {
  return mentionOfAll.test(text);
}

/** Whether a text has a link with a label, whose address `toPlain` loses. */
export function hasLabelledLink(text: string): boolean {
  return /<(?:https?|mailto):[^<>|]+\|[^<>]+>/.test(text);
}

/** A text with links as their labels. Other marks stay. */
export function toPlain(text: string): string {
  return decodeEntities(
    text.replace(bracketed, (_, target: string, label?: string) => labelOf(target, label)),
  );
}

/** A text as Markdown. */
export function toMarkdown(text: string): string {
  return text
    .split(code)
    .map((part, index) => (index % 2 === 1 ? decodeEntities(part) : proseToMarkdown(part)))
    .join("");
}

function proseToMarkdown(text: string): string {
  const marked = text
    .replace(/(?<![\w*])\*(?=\S)([^*\n]*\S)\*(?![\w*])/g, "**$1**")
    .replace(/(?<![\w~])~(?=\S)([^~\n]*\S)~(?![\w~])/g, "~~$1~~");
  const linked = marked.replace(bracketed, (_, target: string, label?: string) => {
    if (!/^(?:https?|mailto):/i.test(target)) return labelOf(target, label);
    if (label === undefined || label === "") return target;
    return `[${label.replace(/[[\]]/g, "\\$&")}](${target.replaceAll("(", "%28").replaceAll(")", "%29")})`;
  });
  return decodeEntities(linked);
}

/**
 * The text as a reader of Slack sees it: `<!here>` as @here, `<#C1|ops>` as #ops, `<!date^…|at noon>` as its fallback.
 */
function labelOf(target: string, label: string | undefined): string {
  const [sign] = target;
  if (sign === "#") return `#${label || target.slice(1)}`;
  if (sign === "@") return `@${(label || target.slice(1)).replace(/^@/, "")}`;
  if (sign !== "!") return label || target.replace(/^mailto:/, "");
  const name = target.slice(1);
  return /^(?:channel|here|everyone)$/.test(name) ? `@${name}` : (label ?? `@${name.split("^")[0]}`);
}

function decodeEntities(text: string): string {
  return text.replace(/&(lt|gt|amp);/g, (_, name: string) => ({ lt: "<", gt: ">", amp: "&" })[name]!);
}
