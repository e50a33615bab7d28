import MiniSearch, { type Query, type SearchResult } from "minisearch";
import { synonyms } from "./synonyms.ts";

/** A part of a page, as the index has it. */
export type Section = { href: string; page: string; title: string; text: string };

/** Returns what searches sections, best match first. */
export function createSearch(sections: Section[]): (query: string) => SearchResult[] {
  const index = new MiniSearch<Section>({
    idField: "href",
    fields: ["title", "page", "text"],
    searchOptions: {
      boost: { title: 4, page: 2 },
      prefix: true,
      // Short words with another letter are other words.
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      combineWith: "AND",
    },
  });
  index.addAll(sections);
  return (query) => index.search(withSynonyms(query));
}

/** A query in which each word may be another that means the same. */
function withSynonyms(text: string): Query {
  let rest = ` ${text.toLowerCase()} `;
  const queries: Query[] = [];
  for (const { words, means } of synonyms)
    for (const word of words) {
      if (!rest.includes(` ${word} `)) continue;
      rest = rest.replace(` ${word} `, " ");
      queries.push({ combineWith: "OR", queries: [word, ...means].map(allOf) });
    }
  return { combineWith: "AND", queries: rest.trim() === "" ? queries : [...queries, rest] };
}

function allOf(words: string): Query {
  return { combineWith: "AND", queries: [words] };
}
