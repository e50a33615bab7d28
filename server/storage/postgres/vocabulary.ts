import { LRUCache } from "lru-cache";
import { token } from "../../event/tokens.ts";
import type { AcceptedEvent } from "../event-store.ts";
import { endOfPrefix } from "../text-range.ts";
import type { Query } from "./query.ts";

/** Texts that a node remembers to have stored, each up to a kilobyte. */
const knownTextsMax = 200_000;
/**
 * Values of one key that a node adds to the vocabulary. A key with more has a different value on every event, and
 * adding each would cost more than storing the event.
 */
const valuesMax = 20_000;
const keysMax = 10_000;

/**
 * Tokens that can be missing from the vocabulary, and how often tokens had been removed when that was decided.
 */
export type NewTokens = { texts: string[]; tokens: string[]; removals: number };

/**
 * Finds the names, users and tags that have to be added to the vocabulary. It remembers what this node has added, until
 * tokens are removed from the vocabulary. It remembers texts, not tokens: making tokens only to find them known would
 * cost as much as the rest of storing an event.
 */
export class NewTexts {
  readonly #known = new LRUCache<string, true>({ max: knownTextsMax });
  readonly #valuesOf = new LRUCache<string, number>({ max: keysMax });
  #removals = -1;

  /** The tokens of these events that are not known to be in the vocabulary. */
  among(events: readonly Pick<AcceptedEvent, "projectId" | "event">[]): NewTokens {
    const found = new Map<string, string>();
    for (const { projectId, event } of events) {
      const { name, userId, tags } = event;
      const ofName = `${projectId}e${name}`;
      if (!this.#known.get(ofName)) found.set(ofName, token.name(projectId, name));
      if (userId !== "") {
        const ofUser = `${projectId}u${userId}`;
        if (!this.#known.get(ofUser)) found.set(ofUser, token.user(projectId, userId));
      }
      for (const key in tags) {
        const value = tags[key]!;
        const ofTag = `${projectId}t${key}\0${value}`;
        if (this.#known.get(ofTag) || found.has(ofTag)) continue;
        if (this.#takesValue(`${projectId}${key}`)) found.set(ofTag, token.tag(projectId, key, value));
      }
    }
    return { texts: [...found.keys()], tokens: [...found.values()], removals: this.#removals };
  }

  /** Remembers texts that are now in the vocabulary. If `removals` has changed, it forgets all others. */
  stored({ texts }: NewTokens, removals: number): void {
    if (removals !== this.#removals) {
      if (removals < this.#removals) return;
      this.#known.clear();
      this.#valuesOf.clear();
      this.#removals = removals;
    }
    for (const text of texts) this.#known.set(text, true);
  }

  #takesValue(key: string): boolean {
    const values = this.#valuesOf.get(key) ?? 0;
    if (values === valuesMax) return false;
    this.#valuesOf.set(key, values + 1);
    return true;
  }
}

/** Tokens per query. */
const pageTokens = 200;

type TokenRange = {
  /** The position to continue from after a token; by default the next token. */
  after?: (token: string) => string;
  /** The first position; by default the first token with the prefix. */
  from?: string;
};

/** The tokens with a prefix, in order. */
export async function* tokensFrom(
  runQuery: Query,
  prefix: string,
  { after = justAfter, from = prefix }: TokenRange = {},
): AsyncGenerator<string> {
  for await (const page of pagesOfTokens(runQuery, prefix, {
    after,
    from,
    limit: after === justAfter ? pageTokens : 1,
  })) {
    yield* page;
  }
}

/** Like `tokensFrom`, in pages of `limit`. */
export async function* pagesOfTokens(
  runQuery: Query,
  prefix: string,
  { after = justAfter, from = prefix, limit }: TokenRange & { limit: number },
): AsyncGenerator<string[]> {
  let next = from > prefix ? from : prefix;
  for (;;) {
    const rows = await runQuery<{ token: string }>(
      "SELECT token FROM vocabulary WHERE token >= $1 AND token < $2 ORDER BY token LIMIT $3",
      [next, endOfPrefix(prefix), limit],
    );
    const tokens = rows.map(({ token }) => token);
    if (tokens.length > 0) yield tokens;
    if (tokens.length < limit) return;
    next = after(tokens.at(-1)!);
  }
}

/** A text that sorts right after a token. Tokens have no control characters. */
export function justAfter(token: string): string {
  return `${token}\u0001`;
}
