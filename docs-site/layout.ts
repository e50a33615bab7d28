import { escapeHtml } from "./html.ts";
import type { Heading } from "./pages.ts";

/** A page of the site, whether it is written or generated. */
export type SitePage = {
  /** Path below `/docs/`; empty for the first page. */
  slug: string;
  title: string;
  headings: Heading[];
  html: string;
  /** Sections that search finds, as plain text. */
  sections: Section[];
};

export type Section = { id: string; title: string; text: string };

export type SiteGroup = { title: string; pages: SitePage[] };

/** Addresses of the built style sheet, script, font and search index. */
export type Assets = { css: string; script: string; font: string; index: string };

/** Returns a complete page: navigation, text, contents, and links to the neighbors. */
export function layoutPage(page: SitePage, groups: SiteGroup[], assets: Assets): string {
  const all = groups.flatMap((group) => group.pages);
  const position = all.indexOf(page);
  // The page for addresses without one has no neighbors.
  const [previous, next] = position === -1 ? [] : [all[position - 1], all[position + 1]];
  const title = page.slug === "" ? "Tidings documentation" : `${page.title} · Tidings documentation`;
  const contents = page.headings.filter(({ depth }) => depth === 2 || depth === 3);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(descriptionOf(page))}">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#f7f5f1">
<script src="/theme.js"></script>
<link rel="preload" href="${assets.font}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${assets.css}">
<link rel="icon" href="/mark.svg" type="image/svg+xml">
<script type="module" src="${assets.script}"></script>
</head>
<body data-index="${assets.index}">
<a class="skip" href="#text">Skip to the text</a>
<header>
<a class="brand" href="/docs"><img src="/mark.svg" alt="" width="20" height="20">Tidings <span>docs</span></a>
<search><form class="search" hidden>
<input type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off" role="combobox"
 aria-expanded="false" aria-controls="results" aria-autocomplete="list"><kbd>/</kbd>
<ul id="results" role="listbox" aria-label="Results" hidden></ul><p class="status" role="status"></p>
</form></search>
<a class="open" href="/">Dashboard</a>
</header>
<div class="columns">
<nav class="pages" aria-label="Pages"><details><summary>All pages</summary></details>
<div>${groups.map((group) => navigationGroup(group, page)).join("\n")}</div></nav>
<main id="text"><article>
${page.html}</article>
${neighborLinks(previous, next)}
</main>
${contents.length > 1 ? contentsHtml(contents) : ""}
</div>
</body>
</html>
`;
}

function navigationGroup({ title, pages }: SiteGroup, current: SitePage): string {
  const items = pages.map((page) => {
    const isCurrent = page === current ? ' aria-current="page"' : "";
    return `<li><a href="${addressOf(page)}"${isCurrent}>${escapeHtml(page.title)}</a></li>`;
  });
  return `<h2>${escapeHtml(title)}</h2><ul>${items.join("")}</ul>`;
}

function neighborLinks(previous: SitePage | undefined, next: SitePage | undefined): string {
  const link = (page: SitePage | undefined, label: string, rel: string) =>
    page
      ? `<a rel="${rel}" href="${addressOf(page)}"><span>${label}</span>${escapeHtml(page.title)}</a>`
      : "<span></span>";
  return `<nav class="neighbors" aria-label="Neighbors">${link(previous, "Previous", "prev")}${link(next, "Next", "next")}</nav>`;
}

function contentsHtml(headings: Heading[]): string {
  const items = headings.map(
    ({ id, text, depth }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${items.join("")}</ul></nav>`;
}

export function addressOf({ slug }: { slug: string }): string {
  return slug === "" ? "/docs" : `/docs/${slug}`;
}

/** The first sentences, up to what search engines and previews show. */
export function descriptionOf({ sections }: SitePage, lengthMax = 160): string {
  const text = sections[0]?.text.trim().replace(/\s+/g, " ") ?? "";
  if (text.length <= lengthMax) return text;
  return `${text.slice(0, text.lastIndexOf(" ", lengthMax))} …`;
}
