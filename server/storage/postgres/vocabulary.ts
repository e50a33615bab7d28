import type { Ask } from "./ask.ts";

/** Tokens that a node remembers to have stored; a quarter of a kilobyte each at most. */
const rememberedMax = 100_000;

/** Tokens of names, users and tags that may be missing from the vocabulary, which was cut so often when they were looked for. */
export type Fresh = { tokens: string[]; cuts: number };

/** Knows which tokens need not be put into the vocabulary, as this node has done so and none were taken out of it since. */
export class NewTokens {
  readonly #known = new Set<string>();
  #cuts = -1;

  /** @param lists - the tokens of events, with spaces between */
  among(lists: readonly string[]): Fresh {
    const tokens = new Set<string>();
    for (const list of lists) {
      for (const token of list.split(" ")) {
        if (!this.#known.has(token) && isKept(token)) tokens.add(token);
      }
    }
    return { tokens: [...tokens], cuts: this.#cuts };
  }

  /** They are in the vocabulary, and so are all others of their events where it was cut meanwhile. */
  stored({ tokens }: Fresh, cuts: number): void {
    if (cuts !== this.#cuts) {
      if (cuts < this.#cuts) return;
      this.#known.clear();
      this.#cuts = cuts;
    }
    if (this.#known.size + tokens.length > rememberedMax) this.#known.clear();
    for (const token of tokens) this.#known.add(token);
  }
}

const kept = /^\d+[eut]/;

function isKept(token: string): boolean {
  return kept.test(token);
}

/** Tokens that one look gives. */
const lookTokens = 200;

/**
 * The tokens with a prefix, in order.
 *
 * @param after - where to go on behind a token; by default at the next one
 * @param from - where to begin, if not at the first token with the prefix
 */
export async function* tokensFrom(
  ask: Ask,
  prefix: string,
  { after, from = prefix }: { after?: (token: string) => string; from?: string } = {},
): AsyncGenerator<string> {
  const limit = after ? 1 : lookTokens;
  let next = from > prefix ? from : prefix;
  for (;;) {
    const rows = await ask<{ token: string }>(
      "SELECT token FROM vocabulary WHERE token >= $1 AND token < $2 ORDER BY token LIMIT $3",
      [next, `${prefix}\u{10ffff}`, limit],
    );
    for (const { token } of rows) yield token;
    const last = rows.at(-1)?.token;
    if (last === undefined || rows.length < limit) return;
    next = after ? after(last) : behind(last);
  }
}

/** The place right behind a token: none has control characters. */
export function behind(token: string): string {
  return `${token}\u0001`;
}
