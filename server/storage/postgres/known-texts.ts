import type { Event } from "../../event/event.ts";
import { partsOfTag, prefixesOf, textOf, token, tokenPrefix } from "../../event/tokens.ts";
import type { KnownTexts, UserQuery } from "../event-queries.ts";
import { jsonOf } from "../event-row.ts";
import { texts } from "./arrays.ts";
import type { OlderEvents } from "./older.ts";
import type { Row } from "./page.ts";
import type { Query } from "./query.ts";
import { justAfter, pagesOfTokens, tokensFrom } from "./vocabulary.ts";

/** Reads this many tokens, or twice as many as results are wanted: long texts are stored as a hash and don't count. */
const tokensMin = 200;
/** Users whose events one statement counts. */
const usersAtATime = 500;

/** Reads texts from the vocabulary, almost without reading events. */
export function createKnownTexts(runQuery: Query, older: OlderEvents | null) {
  /**
   * The users of some tokens, and the number of their events. If a token has only a hash, the id is read from an event.
   */
  async function usersOf(
    projectId: number,
    words: string[],
    ids: readonly (string | null)[] = words.map((word) =>
      textOf(word.slice(tokenPrefix.user(projectId, "").length)),
    ),
  ): Promise<{ userId: string; events: number }[]> {
    const cut = older && (await older.cut());
    const rows = await runQuery<Row & { events: number }>(
      `SELECT events, created_at AS ms, id, body FROM count_tokens($1, $2, $3)`,
      [texts(words), ids.map((id) => id === null), String(cut?.arrival ?? -1)],
    );
    const earlier = older && cut ? await older.countTokens(cut, projectId, words) : null;
    return rows.flatMap(({ events, ms, id, body }, at) => {
      const before = earlier?.get(words[at]!);
      const sum = events + (before?.events ?? 0);
      // The user has no events any more; the vocabulary drops the token later.
      if (sum === 0) return [];
      const userId = ids[at] ?? before?.userId ?? (JSON.parse(jsonOf(id, body, ms)) as Event).userId;
      return { userId, events: sum };
    });
  }

  return {
    /** Users whose id begins with a prefix, and the number of their events, in the order of tokens. */
    async users(query: UserQuery, limit: number) {
      const { projectId } = query;
      if ("userIds" in query) {
        const words = query.userIds.map((userId) => token.user(projectId, userId));
        return (await usersOf(projectId, words, query.userIds)).slice(0, limit);
      }
      const { prefix, after } = query;
      const found: { userId: string; events: number }[] = [];
      const ofUsers = tokenPrefix.user(projectId, "");
      const from = after === undefined ? {} : { from: justAfter(token.user(projectId, after)) };
      const pageTokens = Math.min(limit, usersAtATime);
      for (const part of prefixesOf(prefix)) {
        for await (const words of pagesOfTokens(runQuery, ofUsers + part, { ...from, limit: pageTokens })) {
          const users = await usersOf(projectId, words);
          found.push(...users.filter(({ userId }) => userId.startsWith(prefix)));
          if (found.length >= limit) return found.slice(0, limit);
        }
      }
      return found;
    },

    /** Up to `limit` different texts of a project's events with a prefix. */
    async startingWith(
      projectId: number,
      known: KnownTexts,
      prefix: string,
      limit: number,
    ): Promise<string[]> {
      const start =
        known.kind === "value"
          ? tokenPrefix.value(projectId, known.key, prefix)
          : tokenPrefix[known.kind](projectId, prefix);
      const head = `${projectId}t`.length;
      // One value of a key is enough: "_{" sorts right after all tokens that continue the key with "_z".
      const after = known.kind === "key" ? (word: string) => `${partsOfTag(word)[0]}_{` : undefined;
      const found: string[] = [];
      const tokensMax = Math.max(tokensMin, 2 * limit);
      let seen = 0;
      for await (const word of tokensFrom(runQuery, start, after && { after })) {
        const part =
          known.kind === "value"
            ? partsOfTag(word)[1]
            : known.kind === "key"
              ? partsOfTag(word)[0].slice(head)
              : word.slice(head);
        const text = textOf(part);
        if (text !== null) found.push(text);
        if (found.length === limit || ++seen === tokensMax) break;
      }
      return found;
    },
  };
}
