import { partsOfTag, textOf, tokenPrefix } from "../../event/tokens.ts";
import type { KnownTexts } from "../event-queries.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** Reads this many terms, or twice as many as results are wanted: long texts are stored as a hash and don't count. */
const termsMin = 200;

/** Up to `limit` different texts of a project's events with a prefix, from the terms of the full-text index. */
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
  // One value of a key is enough: "_{" sorts right after all terms that continue the key with "_z".
  const afterKey = (term: string) => `${partsOfTag(term)[0]}_{`;
  const after = texts.kind === "key" ? afterKey : undefined;
  const found: string[] = [];
  const termsMax = Math.max(termsMin, 2 * limit);
  let seen = 0;
  for (const term of vocabulary.termsFrom(start, after)) {
    const part =
      texts.kind === "value"
        ? partsOfTag(term)[1]
        : texts.kind === "key"
          ? partsOfTag(term)[0].slice(head)
          : term.slice(head);
    const text = textOf(part);
    if (text !== null) found.push(text);
    if (found.length === limit || ++seen === termsMax) break;
  }
  return found;
}
