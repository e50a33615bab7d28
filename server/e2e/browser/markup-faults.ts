/** Elements that have no content. */
const voidTags = ["br"];

/**
 * What is wrong with a fragment of HTML, or null. Only the given tags are allowed, without attributes but the `href` of
 * links. `isFlat`: code has no tags in it, and quotes no quotes.
 */
export function htmlFault(html: string, tags: string[], { isFlat }: { isFlat: boolean }): string | null {
  const open: string[] = [];
  let rest = html;
  while (rest !== "") {
    const [plain] = /^[^<>&]*/.exec(rest)!;
    rest = rest.slice(plain.length);
    if (rest === "") break;
    const entity = /^&(lt|gt|amp|quot);/.exec(rest)?.[0];
    const tag = /^<(\/?)([a-z]+)( href="(?:https?:|mailto:)[^"<>]*")?>/.exec(rest);
    if (!entity && !tag) return `unescaped text at ${JSON.stringify(rest.slice(0, 20))}`;
    rest = rest.slice((entity ?? tag![0]).length);
    if (!tag) continue;
    const [, slash, name = "", href] = tag;
    if (!tags.includes(name)) return `unsupported start tag "${name}"`;
    if ((name === "a" && slash === "") !== (href !== undefined)) return `<${name}> and its href`;
    if (slash === "/" && open.pop() !== name) return `unexpected end tag "${name}"`;
    if (slash === "" && !voidTags.includes(name)) {
      const isInCode = open.includes("code") || (open.includes("pre") && name !== "code");
      if (isFlat && (isInCode || open.includes("pre"))) return `<${name}> in code`;
      if (open.includes(name) && (name === "a" || (isFlat && name === "blockquote"))) {
        return `<${name}> in <${name}>`;
      }
      open.push(name);
    }
  }
  return open.length > 0 ? `can't find end tag of "${open.at(-1)}"` : null;
}

/** What in a text could be a mention on Slack, or breaks its markup; null if nothing. */
export function mrkdwnFault(text: string): string | null {
  const rest = text
    .replace(/<(?:https?:\/\/|mailto:)[^<>|\s]+\|[^<>]+>/g, "")
    .replace(/<!date\^\d+\^[^<>|^]+\|[^<>]+>/g, "");
  const found = /<|(?<!^|\n *|\n[> ]*)>|&(?!amp;|lt;|gt;)/.exec(rest);
  return found ? `unescaped text at ${JSON.stringify(rest.slice(found.index, found.index + 20))}` : null;
}
