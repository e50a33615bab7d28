import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import GithubSlugger from "github-slugger";
import { lexer, type Token, type TokensList } from "marked";

const root = join(import.meta.dir, "..");
export const docs = join(root, "docs");

export type Heading = { id: string; text: string; depth: number };

/** A page that is written in Markdown. */
export type Page = {
  slug: string;
  /** Path from the repository's root. */
  file: string;
  title: string;
  tokens: TokensList;
  /** All headings, in the order of the page, with the ids that GitHub gives them. */
  headings: Heading[];
};

export type Group = { title: string; pages: Page[] };

type ListedPage = { file: string; slug: string /** Instead of the first heading. */; title?: string };
type Listed = { title: string; pages: ListedPage[] }[];

/** Reads the pages that `docs/contents.json` lists, in its order. Pages that it doesn't list come last. */
export function readPages(): Group[] {
  const groups = readContents().map(({ title, pages }) => ({
    title,
    pages: pages.filter(({ file }) => existsSync(join(root, file))).map(readPage),
  }));
  const unlisted = unlistedFiles().map((file) => readPage({ file, slug: slugOf(file) }));
  return unlisted.length === 0 ? groups : [...groups, { title: "More", pages: unlisted }];
}

/** Returns what is wrong with the pages: files that are not listed or missing, and links that lead nowhere. */
export function findFaults(): string[] {
  const missing = readContents()
    .flatMap(({ pages }) => pages)
    .filter(({ file }) => !existsSync(join(root, file)))
    .map(({ file }) => `docs/contents.json lists ${file}, which does not exist.`);
  const unlisted = unlistedFiles().map((file) => `${file} is missing from docs/contents.json.`);
  const pages = readPages().flatMap((group) => group.pages);
  const links = pages.flatMap((page) =>
    linksOf(page.tokens).flatMap((href) => {
      const target = resolveLink(page, href, pages);
      return "fault" in target ? [`${page.file}: ${target.fault}`] : [];
    }),
  );
  return [...missing, ...unlisted, ...links];
}

/** Files beside the pages that they link to, and where the site has them. */
const otherFiles: Record<string, string> = {
  "docs/openapi.json": "/openapi.json",
  "docs/alerts.yaml": "/docs/alerts.yaml",
  "docs/grafana.json": "/docs/grafana.json",
};

/** Returns the address on the site of a link in a page, or why there is none. */
export function resolveLink(page: Page, href: string, pages: Page[]): { href: string } | { fault: string } {
  if (/^(?:https?|mailto):/.test(href)) return { href };
  const [path = "", fragment] = href.split("#");
  const file = path === "" ? page.file : inRepository(join(dirname(page.file), path));
  const other = /^docs\/.+\.webp$/.test(file) ? `/${file}` : otherFiles[file];
  if (other) return existsSync(join(root, file)) ? { href: other } : { fault: `${href} does not exist.` };
  const target = pages.find((each) => each.file === file);
  if (!target) return { fault: `${href} is no page of the documentation.` };
  if (fragment !== undefined && !target.headings.some(({ id }) => id === fragment))
    return { fault: `${href}: ${target.file} has no such heading.` };
  const hash = fragment === undefined ? "" : `#${fragment}`;
  return { href: target === page && hash ? hash : `/docs/${target.slug}${hash}` };
}

function readPage({ file, slug, title: ownTitle }: ListedPage): Page {
  const tokens = lexer(readFileSync(join(root, file), "utf8"));
  const slugger = new GithubSlugger();
  const headings = tokens.flatMap((token): Heading[] => {
    if (token.type !== "heading") return [];
    const text = plainText(token.tokens ?? []);
    return [{ id: slugger.slug(text), text, depth: token.depth }];
  });
  const title = ownTitle ?? headings.find(({ depth }) => depth === 1)?.text ?? slug;
  return { slug, file, title, tokens, headings };
}

/** The pages that `docs/contents.json` lists, each by its path from `docs/`. */
function readContents(): Listed {
  const contents: { title: string; pages: (string | ListedPage)[] }[] = JSON.parse(
    readFileSync(join(docs, "contents.json"), "utf8"),
  );
  return contents.map(({ title, pages }) => ({
    title,
    pages: pages.map((page) => {
      if (typeof page !== "string") return { ...page, file: inRepository(join("docs", page.file)) };
      const file = inRepository(join("docs", page));
      return { file, slug: slugOf(file) };
    }),
  }));
}

function slugOf(file: string): string {
  return file.replace(/^docs\/|\.md$/g, "");
}

function unlistedFiles(): string[] {
  const listed = new Set(readContents().flatMap(({ pages }) => pages.map(({ file }) => file)));
  return readdirSync(docs, { recursive: true, encoding: "utf8" })
    .map((file) => inRepository(join("docs", file)))
    .filter((file) => file.endsWith(".md") && !listed.has(file))
    .toSorted();
}

function inRepository(path: string): string {
  return normalize(path).replaceAll("\\", "/");
}

export function plainText(tokens: Token[]): string {
  return tokens
    .map((token) => {
      if ("tokens" in token && token.tokens) return plainText(token.tokens);
      if ("text" in token) return token.text as string;
      return token.type === "br" ? " " : "";
    })
    .join("");
}

export function linksOf(tokens: Token[]): string[] {
  return tokens.flatMap((token): string[] => {
    const own = token.type === "link" || token.type === "image" ? [token.href as string] : [];
    const children: Token[] = [
      ...("tokens" in token ? (token.tokens ?? []) : []),
      ...(token.type === "list" ? token.items : []),
      ...(token.type === "table"
        ? [...token.header, ...token.rows.flat()].flatMap((cell: { tokens: Token[] }) => cell.tokens)
        : []),
    ];
    return [...own, ...linksOf(children)];
  });
}
