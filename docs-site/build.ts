/**
 * Builds the documentation into `dashboard/dist/docs`: static pages from `docs/*.md` and `docs/openapi.json`, and an
 * index for search. `npm run build` runs it after the dashboard's build, whose font it uses.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readDescription } from "./api-description.ts";
import { referencePages } from "./api-reference.ts";
import { escapeHtml } from "./html.ts";
import {
  type Assets,
  addressOf,
  descriptionOf,
  layoutPage,
  type SiteGroup,
  type SitePage,
} from "./layout.ts";
import { docs, linksOf, readPages, resolveLink } from "./pages.ts";
import { renderPage } from "./render-page.ts";
import { sectionsOf } from "./sections.ts";
import { siteStyles } from "./site-styles.ts";

const dist = join(import.meta.dir, "../dashboard/dist");
const target = join(dist, "docs");
rmSync(target, { recursive: true, force: true });

const groups = siteGroups();
const pages = groups.flatMap((group) => group.pages);
const assets = await writeAssets(pages);
for (const page of pages)
  write(page.slug === "" ? "index.html" : `${page.slug}.html`, layoutPage(page, groups, assets));
write("404.html", layoutPage(missingPage(), groups, assets));
copyLinkedFiles();

/** Copies the pictures of the pages, and other files that they link to. */
function copyLinkedFiles(): void {
  const written = readPages().flatMap((group) => group.pages);
  for (const page of written)
    for (const link of linksOf(page.tokens)) {
      const resolved = resolveLink(page, link, written);
      const name = "href" in resolved && /^\/docs\/(.+\.(?:webp|json|yaml))$/.exec(resolved.href)?.[1];
      if (!name) continue;
      mkdirSync(dirname(join(target, name)), { recursive: true });
      copyFileSync(join(docs, name), join(target, name));
    }
}

function siteGroups(): SiteGroup[] {
  const written = readPages();
  const all = written.flatMap((group) => group.pages);
  const ofPages: SiteGroup[] = written.map(({ title, pages }) => ({
    title,
    pages: pages.map((page) => ({
      slug: page.slug,
      title: page.title,
      headings: page.headings,
      html: renderPage(page, all),
      sections: sectionsOf(page),
    })),
  }));
  const reference: SiteGroup = { title: "API reference", pages: referencePages(readDescription()) };
  addReferenceLinks(ofPages, reference);
  const groups = [...ofPages.slice(0, -1), reference, ...ofPages.slice(-1)];
  return [{ title: "Documentation", pages: [overviewPage(groups)] }, ...groups];
}

/** The guide to the API ends with the reference, so `/docs/api` leads to everything. */
function addReferenceLinks(written: SiteGroup[], reference: SiteGroup): void {
  const guide = written.flatMap((group) => group.pages).find(({ slug }) => slug === "api");
  if (!guide) return;
  guide.html += `<h2 id="reference">Reference</h2>\n${listHtml(reference.pages)}`;
  guide.headings = [...guide.headings, { id: "reference", text: "Reference", depth: 2 }];
}

function overviewPage(groups: SiteGroup[]): SitePage {
  const parts = groups.map(
    ({ title, pages }) =>
      `<h2>${escapeHtml(title)}</h2>\n<ul class="cards">${pages.map(cardHtml).join("")}</ul>\n`,
  );
  return {
    slug: "",
    title: "Overview",
    headings: [],
    html: `<h1>Documentation</h1>\n${parts.join("")}`,
    sections: [
      { id: "", title: "Documentation", text: "How to run Tidings, send events, and use the dashboard." },
    ],
  };
}

function missingPage(): SitePage {
  const html = "<h1>Page not found</h1>\n<p>Search, or choose a page from the list.</p>\n";
  return { slug: "404", title: "Page not found", headings: [], html, sections: [] };
}

function cardHtml(page: SitePage): string {
  return `<li><a href="${addressOf(page)}"><b>${escapeHtml(page.title)}</b><span>${escapeHtml(descriptionOf(page, 130))}</span></a></li>`;
}

function listHtml(pages: SitePage[]): string {
  const items = pages.map((page) => `<li><a href="${addressOf(page)}">${escapeHtml(page.title)}</a></li>`);
  return `<ul>${items.join("")}</ul>\n`;
}

/** Scripts, styles and index have the hash of their content in their names, like the dashboard's. */
async function writeAssets(pages: SitePage[]): Promise<Assets> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "browser/docs.ts")],
    outdir: join(dist, "assets"),
    naming: { entry: "[name]-[hash].js", chunk: "[name]-[hash].js" },
    target: "browser",
    minify: true,
    splitting: true,
  });
  const script = outputs.find(({ kind }) => kind === "entry-point")!;
  const sections = pages.flatMap((page) =>
    page.sections.map(({ id, title, text }) => ({
      href: addressOf(page) + (id === "" ? "" : `#${id}`),
      page: page.title,
      title,
      text: text.replace(/\s+/g, " ").trim(),
    })),
  );
  const font = readdirSync(join(dist, "assets")).find((name) =>
    /^hanken-grotesk-latin-[\w-]{8}\.woff2$/.test(name),
  );
  if (!font) throw new Error("The dashboard's build has no font for the documentation.");
  return {
    script: `/assets/${script.path.split(/[/\\]/).at(-1)}`,
    css: writeHashed(
      "docs",
      "css",
      siteStyles(readFileSync(join(import.meta.dir, "docs.css"), "utf8"), font),
    ),
    font: `/assets/${font}`,
    index: writeHashed("docs-index", "json", JSON.stringify(sections)),
  };
}

function writeHashed(name: string, extension: string, text: string): string {
  const file = `${name}-${Bun.hash(text).toString(36).slice(0, 8)}.${extension}`;
  writeFileSync(join(dist, "assets", file), text);
  return `/assets/${file}`;
}

function write(name: string, text: string): void {
  const file = join(target, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
