import { Square, SquareCheck } from "lucide-react";
import type { Token, Tokens } from "marked";
import { Fragment, type ReactNode, useMemo } from "react";
import { decodeEntities, parseMarkdown } from "../../server/event/markdown.ts";
import { externalLink } from "../feed/tag-chips.tsx";

/**
 * Renders Markdown as React elements, from the parser's tokens. No HTML is built from an event's text, so none can be
 * injected; HTML in the text is shown as text.
 */
export default function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => parseMarkdown(text), [text]);
  if (!tokens) return <p className="hostile whitespace-pre-wrap text-base">{text}</p>;
  return <div className="markdown hostile flex flex-col gap-2.5 text-base">{blocks(tokens)}</div>;
}

function blocks(tokens: Token[]): ReactNode[] {
  // biome-ignore lint/suspicious/noArrayIndexKey: tokens of a text never reorder
  return tokens.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>);
}

function inlines(tokens: Token[] | undefined): ReactNode[] {
  // biome-ignore lint/suspicious/noArrayIndexKey: tokens of a text never reorder
  return (tokens ?? []).map((token, index) => <Fragment key={index}>{inline(token)}</Fragment>);
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return <h3 className="font-semibold">{inlines(token.tokens)}</h3>;
    case "paragraph":
      return <p>{inlines(token.tokens)}</p>;
    case "hr":
      return <hr />;
    case "blockquote":
      return (
        <blockquote className="flex flex-col gap-2 border-line-strong border-l-2 pl-3 text-muted">
          {blocks(token.tokens ?? [])}
        </blockquote>
      );
    case "code":
      return (
        <pre className="whitespace-pre-wrap rounded-md border border-line bg-canvas p-3 font-mono text-xs leading-5">
          {token.text}
        </pre>
      );
    case "list":
      return <List list={token as Tokens.List} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "checkbox":
      return checkbox(token as Tokens.Checkbox);
    case "html":
      return <p className="whitespace-pre-wrap">{token.raw.trim()}</p>;
    default:
      return token.type === "text" ? <p>{inline(token)}</p> : token.raw;
  }
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong className="font-semibold">{inlines(token.tokens)}</strong>;
    case "em":
      return <em>{inlines(token.tokens)}</em>;
    case "del":
      return <del>{inlines(token.tokens)}</del>;
    case "codespan":
      return <code className="rounded bg-pressed px-1 py-px font-mono text-xs">{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return <SafeLink href={token.href}>{inlines(token.tokens)}</SafeLink>;
    case "image":
      // A link instead: loading the image would reveal the viewer to a third party, and the CSP forbids it.
      return <SafeLink href={token.href}>{token.text || token.href}</SafeLink>;
    case "text":
      return "tokens" in token && token.tokens ? inlines(token.tokens) : decodeEntities(token.raw);
    case "escape":
      return token.text;
    case "checkbox":
      return checkbox(token as Tokens.Checkbox);
    default:
      return token.raw;
  }
}

function checkbox({ checked }: Tokens.Checkbox): ReactNode {
  const Icon = checked ? SquareCheck : Square;
  return (
    <Icon
      role="img"
      aria-label={checked ? "Done" : "To do"}
      className="mr-1.5 inline size-4 align-[-3px] text-muted"
    />
  );
}

/** Links only to http, https and mailto; `javascript:` and others stay text. */
function SafeLink({ href, children }: { href: string; children: ReactNode }) {
  const scheme = URL.parse(href, location.origin)?.protocol;
  if (scheme !== "https:" && scheme !== "http:" && scheme !== "mailto:") return <>{children}</>;
  return (
    <a href={href} {...externalLink} className="text-accent underline underline-offset-2">
      {children}
    </a>
  );
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens of a text never reorder
    <li key={index} className={item.task ? "-ml-5 list-none" : "pl-0.5"}>
      {item.tokens.map((token, position) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same
        <Fragment key={position}>{token.type === "text" ? inline(token) : block(token)}</Fragment>
      ))}
    </li>
  ));
  if (!list.ordered) return <ul className="flex list-disc flex-col gap-1 pl-5">{items}</ul>;
  return (
    <ol start={Number(list.start) || 1} className="flex list-decimal flex-col gap-1 pl-5">
      {items}
    </ol>
  );
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
    <section aria-label="Table" tabIndex={0} className="overflow-x-auto">
      <table className="text-sm [&_td]:border [&_td]:border-line [&_td]:px-2 [&_td]:py-1 [&_th]:border [&_th]:border-line [&_th]:px-2 [&_th]:py-1 [&_th]:text-left">
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns never reorder
              <th key={index} scope="col">
                {inlines(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows never reorder
            <tr key={index}>
              {row.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the same
                <td key={column}>{inlines(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
