import { createSearch, type Section } from "./search-index.ts";

const resultsMax = 8;
/** Length of a result's text, and how much of it comes before the first word that was found. */
const excerptCharacters = 140;
const contextCharacters = 40;

/** Loads the index and lets the field search it. */
export async function startSearch(form: HTMLFormElement, indexAddress: string): Promise<void> {
  const response = await fetch(indexAddress);
  if (!response.ok) throw new Error(`The index returned ${response.status}.`);
  const sections: Section[] = await response.json();
  const search = createSearch(sections);
  const byHref = new Map(sections.map((section) => [section.href, section]));

  const field = form.querySelector("input")!;
  const list = form.querySelector("ul")!;
  const status = form.querySelector(".status")!;
  let active = -1;

  function show() {
    const query = field.value.trim();
    const found = query === "" ? [] : search(query).slice(0, resultsMax);
    list.replaceChildren(
      ...found.map(({ id, terms }, position) => optionOf(byHref.get(id)!, terms, `result-${position}`)),
    );
    list.hidden = found.length === 0;
    field.setAttribute("aria-expanded", String(found.length > 0));
    status.textContent =
      query === "" ? "" : found.length === 0 ? `Nothing found for “${query}”.` : `${found.length} results`;
    status.classList.toggle("empty", query !== "" && found.length === 0);
    activate(found.length > 0 ? 0 : -1);
  }

  function activate(position: number) {
    active = position;
    [...list.children].forEach((option, each) => {
      option.setAttribute("aria-selected", String(each === active));
    });
    list.children[active]?.scrollIntoView({ block: "nearest" });
    if (active < 0) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", `result-${active}`);
  }

  function close() {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    status.textContent = "";
    status.classList.remove("empty");
  }

  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    const count = list.children.length;
    if (event.key === "Escape") {
      close();
      field.blur();
    } else if (count === 0 || list.hidden) return;
    else if (event.key === "ArrowDown") activate((active + 1) % count);
    else if (event.key === "ArrowUp") activate((active - 1 + count) % count);
    else if (event.key === "Enter") list.children[active]?.querySelector("a")?.click();
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", () => close());
  form.addEventListener("focusout", ({ relatedTarget }) => {
    if (!form.contains(relatedTarget as Node | null)) close();
  });
  show();
}

/** A result: the section, its page, and the text around the first found word. */
function optionOf({ href, page, title, text }: Section, terms: string[], id: string): HTMLElement {
  const option = document.createElement("li");
  option.id = id;
  option.role = "option";
  const link = document.createElement("a");
  link.href = href;
  link.tabIndex = -1;
  const excerpt = excerptOf(text, terms);
  link.append(element("b", title === page ? title : `${page} › ${title}`), element("span", excerpt));
  option.append(link);
  return option;
}

/** The text around the first word that was found, in whole words. */
function excerptOf(text: string, terms: string[]): string {
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((place) => place >= 0);
  const from = places.length > 0 ? Math.min(...places) - contextCharacters : 0;
  const start = from <= 0 ? 0 : text.indexOf(" ", from) + 1;
  const isCut = text.length > start + excerptCharacters;
  const end = isCut ? text.lastIndexOf(" ", start + excerptCharacters) : text.length;
  return `${start > 0 ? "… " : ""}${text.slice(start, end > start ? end : undefined)}${isCut ? " …" : ""}`;
}

function element(tag: "b" | "span", text: string): HTMLElement {
  const created = document.createElement(tag);
  created.textContent = text;
  return created;
}
