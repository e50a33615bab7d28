import type { Event } from "../../event/event.ts";
import { partsOfTag, prefixesOf, textOf, token, tokenPrefix } from "../../event/tokens.ts";
import { jsonOf } from "../event-row.ts";
import type { KnownTexts, UserQuery } from "../store.ts";
import { texts } from "./arrays.ts";
import type { Row } from "./page.ts";
import type { Query } from "./query.ts";
import { behind, pagesOfTokens, tokensFrom } from "./vocabulary.ts";

/** Tokens that are looked at, for the case that of many only a hash is left. */
const tokensMax = 200;
/** Users whose events one statement counts. */
const usersAtATime = 500;

/** Makes the functions that read texts from the vocabulary, without a look at most of the events. */
export function createKnownTexts(ask: Query) {
  /** The users of some tokens, with the number of their events. Of a token that holds a hash, the id is read from an event. */
  async function usersOf(projectId: number, words: string[]): Promise<{ userId: string; events: number }[]> {
    const ids = words.map((word) => textOf(word.slice(tokenPrefix.user(projectId, "").length)));
    const rows = await ask<Row & { events: number }>(
      `SELECT events, created_at AS ms, id, body FROM count_tokens($1, $2)`,
      [texts(words), ids.map((id) => id === null)],
    );
    return rows.flatMap(({ events, ms, id, body }, at) =>
      // The vocabulary forgets them a little later.
      events === 0 ? [] : { userId: ids[at] ?? (JSON.parse(jsonOf(id, body, ms)) as Event).userId, events },
    );
  }

  return {
    /** Users whose id begins so, with the number of their events, in the order of tokens. */
    async users({ projectId, prefix, after }: UserQuery, limit: number) {
      const found: { userId: string; events: number }[] = [];
      const ofUsers = tokenPrefix.user(projectId, "");
      const from = after === undefined ? {} : { from: behind(token.user(projectId, after)) };
      const look = Math.min(limit, usersAtATime);
      for (const part of prefixesOf(prefix)) {
        for await (const words of pagesOfTokens(ask, ofUsers + part, { ...from, limit: look })) {
          const users = await usersOf(projectId, words);
          found.push(...users.filter(({ userId }) => userId.startsWith(prefix)));
          if (found.length >= limit) return found.slice(0, limit);
        }
      }
      return found;
    },

    /** Up to `limit` different texts of a project's events that begin with a prefix. */
    async startingWith(
      projectId: number,
      sought: KnownTexts,
      prefix: string,
      limit: number,
    ): Promise<string[]> {
      const start =
        sought.kind === "value"
          ? tokenPrefix.value(projectId, sought.key, prefix)
          : tokenPrefix[sought.kind](projectId, prefix);
      const head = `${projectId}t`.length;
      // Of a key, one value is enough: "_{" comes right after all that begin with its "_z".
      const after = sought.kind === "key" ? (word: string) => `${partsOfTag(word)[0]}_{` : undefined;
      const found: string[] = [];
      let seen = 0;
      for await (const word of tokensFrom(ask, start, after && { after })) {
        const part =
          sought.kind === "value"
            ? partsOfTag(word)[1]
            : sought.kind === "key"
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
