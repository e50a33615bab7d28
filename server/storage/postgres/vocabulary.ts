import { LRUCache } from "lru-cache";
import { token } from "../../event/tokens.ts";
import type { AcceptedEvent } from "../store.ts";
import type { Query } from "./query.ts";

/** Texts that a node remembers to have stored, at least those that it saw last; a kilobyte each at most. */
const rememberedMax = 200_000;
/**
 * Values of one key that a node puts into the vocabulary. A key with more has values that are different on every event, and looking for each in
 * the vocabulary would cost more than storing the event.
 */
const valuesMax = 20_000;
const keysMax = 10_000;

/** What may be missing from the vocabulary, which was cut so often when it was looked for. */
export type Fresh = { texts: string[]; tokens: string[]; cuts: number };

/**
 * Knows which names, users and tags need not be put into the vocabulary, as this node has done so and none were taken out of it since. It knows
 * them as they are: making their tokens only to find them known would cost as much as all the rest of storing an event.
 */
export class NewTexts {
  #known = new Set<string>();
  #knownBefore = new Set<string>();
  readonly #valuesOf = new LRUCache<string, number>({ max: keysMax });
  #cuts = -1;

  /** Finds those of some events that are not known. */
  among(events: readonly Pick<AcceptedEvent, "projectId" | "event">[]): Fresh {
    const fresh = new Map<string, string>();
    for (const { projectId, event } of events) {
      const { name, userId, tags } = event;
      const ofName = `${projectId}e${name}`;
      if (!this.#known.has(ofName) && this.#isNew(ofName)) fresh.set(ofName, token.name(projectId, name));
      if (userId !== "") {
        const ofUser = `${projectId}u${userId}`;
        if (!this.#known.has(ofUser) && this.#isNew(ofUser)) fresh.set(ofUser, token.user(projectId, userId));
      }
      for (const key in tags) {
        const value = tags[key]!;
        const ofTag = `${projectId}t${key}\0${value}`;
        if (this.#known.has(ofTag) || fresh.has(ofTag) || !this.#isNew(ofTag)) continue;
        if (this.#takesValue(`${projectId}${key}`)) fresh.set(ofTag, token.tag(projectId, key, value));
      }
    }
    return { texts: [...fresh.keys()], tokens: [...fresh.values()], cuts: this.#cuts };
  }

  /** They are in the vocabulary, and so are all others of their events where it was cut meanwhile. */
  stored({ texts }: Fresh, cuts: number): void {
    if (cuts !== this.#cuts) {
      if (cuts < this.#cuts) return;
      this.#known.clear();
      this.#knownBefore.clear();
      this.#valuesOf.clear();
      this.#cuts = cuts;
    }
    for (const text of texts) this.#remember(text);
  }

  #isNew(text: string): boolean {
    if (!this.#knownBefore.has(text)) return true;
    this.#remember(text);
    return false;
  }

  #takesValue(key: string): boolean {
    const values = this.#valuesOf.get(key) ?? 0;
    if (values === valuesMax) return false;
    this.#valuesOf.set(key, values + 1);
    return true;
  }

  #remember(text: string): void {
    if (this.#known.size >= rememberedMax / 2) {
      this.#knownBefore = this.#known;
      this.#known = new Set();
    }
    this.#known.add(text);
  }
}

/** Tokens that one look gives. */
const lookTokens = 200;

type From = {
  /** Where to go on behind a token; by default at the next one. */
  after?: (token: string) => string;
  /** Where to begin, if not at the first token with the prefix. */
  from?: string;
};

/** The tokens with a prefix, in order. */
export async function* tokensFrom(
  ask: Query,
  prefix: string,
  { after = behind, from = prefix }: From = {},
): AsyncGenerator<string> {
  for await (const page of pagesOfTokens(ask, prefix, {
    after,
    from,
    limit: after === behind ? lookTokens : 1,
  })) {
    yield* page;
  }
}

/** The same, so many at a time. */
export async function* pagesOfTokens(
  ask: Query,
  prefix: string,
  { after = behind, from = prefix, limit }: From & { limit: number },
): AsyncGenerator<string[]> {
  let next = from > prefix ? from : prefix;
  for (;;) {
    const rows = await ask<{ token: string }>(
      "SELECT token FROM vocabulary WHERE token >= $1 AND token < $2 ORDER BY token LIMIT $3",
      [next, endOf(prefix), limit],
    );
    const tokens = rows.map(({ token }) => token);
    if (tokens.length > 0) yield tokens;
    if (tokens.length < limit) return;
    next = after(tokens.at(-1)!);
  }
}

/** The first text behind all that begin with a prefix, in the order of code points. */
function endOf(prefix: string): string {
  const points = [...prefix].map((character) => character.codePointAt(0)!);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop()!;
  // Between these two are the surrogates, which are no characters.
  points.push(last === 0xd7ff ? 0xe000 : last + 1);
  return String.fromCodePoint(...points);
}

/** The place right behind a token: none has control characters. */
export function behind(token: string): string {
  return `${token}\u0001`;
}
