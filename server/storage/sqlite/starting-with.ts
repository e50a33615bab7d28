import { partsOfTag, textOf, tokenPrefix } from "../../event/tokens.ts";
import type { KnownTexts } from "../store.ts";
import { behind, type Vocabulary } from "./vocabulary.ts";

/** Terms that are looked at, for the case that of many only a hash is left. */
const termsMax = 200;

/** Up to `limit` different texts of a project's events that begin with a prefix, from the full-text index's own terms. */
export function startingWith(
  vocabulary: Vocabulary,
  projectId: number,
  texts: KnownTexts,
  prefix: string,
  limit: number,
): string[] {
  const start =
    texts.kind === "value"
      ? tokenPrefix.value(projectId, texts.key, prefix)
      : tokenPrefix[texts.kind](projectId, prefix);
  const head = `${projectId}t`.length;
  // Of a key, one value is enough: "_{" comes right after all that begin with its "_z".
  const afterKey = (term: string) => (vocabulary.isOnAny(term) ? `${partsOfTag(term)[0]}_{` : behind(term));
  const after = texts.kind === "key" ? afterKey : undefined;
  const found: string[] = [];
  let seen = 0;
  for (const term of vocabulary.termsFrom(start, after)) {
    const part =
      texts.kind === "value"
        ? partsOfTag(term)[1]
        : texts.kind === "key"
          ? partsOfTag(term)[0].slice(head)
          : term.slice(head);
    const text = textOf(part);
    if (text !== null && vocabulary.isOnAny(term)) found.push(text);
    if (found.length === limit || ++seen === termsMax) break;
  }
  return found;
}
