import type { Event } from "../../wire/event.ts";
import { jsonOf } from "../event-row.ts";
import type { KnownTexts, UserQuery } from "../store.ts";
import { beginning, beginningsOf, partsOfTag, textOf, token } from "../tokens.ts";
import type { Ask } from "./ask.ts";
import { queryOfTokens } from "./match.ts";
import type { Row } from "./page.ts";
import { behind, tokensFrom } from "./vocabulary.ts";

/** Tokens that are looked at, for the case that of many only a hash is left. */
const tokensMax = 200;

/** Makes the functions that read texts from the vocabulary, without a look at most of the events. */
export function createKnownTexts(ask: Ask) {
  /** The user of a token; of one that holds a hash it is read from an event. */
  async function userOf(projectId: number, word: string): Promise<string | undefined> {
    const text = textOf(word.slice(beginning.user(projectId, "").length));
    if (text !== null) return text;
    const [row] = await ask<Row>(
      `SELECT created_at AS ms, id, body FROM events WHERE project_id = $1 AND tokens @@ $2::tsquery LIMIT 1`,
      [projectId, queryOfTokens([word])],
    );
    return row && (JSON.parse(jsonOf(row.id, row.body, row.ms)) as Event).userId;
  }

  return {
    /** Users whose id begins so, with the number of their events, in the order of tokens. */
    async users({ projectId, prefix, after }: UserQuery, limit: number) {
      const found: { userId: string; events: number }[] = [];
      const ofUsers = beginning.user(projectId, "");
      const from = after === undefined ? {} : { from: behind(token.user(projectId, after)) };
      for (const part of beginningsOf(prefix)) {
        for await (const word of tokensFrom(ask, ofUsers + part, from)) {
          const userId = await userOf(projectId, word);
          if (!userId?.startsWith(prefix)) continue;
          const [row] = await ask<{ events: number }>(
            "SELECT count(*) AS events FROM events WHERE project_id = $1 AND tokens @@ $2::tsquery",
            [projectId, queryOfTokens([word])],
          );
          // The vocabulary forgets them a little later.
          if (row!.events > 0) found.push({ userId, events: row!.events });
          if (found.length === limit) return found;
        }
      }
      return found;
    },

    /** Up to `limit` different texts of a project's events that begin with a prefix. */
    async startingWith(
      projectId: number,
      texts: KnownTexts,
      prefix: string,
      limit: number,
    ): Promise<string[]> {
      const start =
        texts.kind === "value"
          ? beginning.value(projectId, texts.key, prefix)
          : beginning[texts.kind](projectId, prefix);
      const head = `${projectId}t`.length;
      // Of a key, one value is enough: "_{" comes right after all that begin with its "_z".
      const after = texts.kind === "key" ? (word: string) => `${partsOfTag(word)[0]}_{` : undefined;
      const found: string[] = [];
      let seen = 0;
      for await (const word of tokensFrom(ask, start, after && { after })) {
        const part =
          texts.kind === "value"
            ? partsOfTag(word)[1]
            : texts.kind === "key"
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
