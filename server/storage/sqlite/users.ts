import type { Database } from "bun:sqlite";
import { type Term, token } from "../../event/tokens.ts";
import { Turns } from "../../scheduling/turns.ts";
import type { UserQuery } from "../event-queries.ts";
import { createCountEntries } from "./count-entries.ts";
import type { IndexedTexts } from "./indexed-texts.ts";
import { earliest, latest } from "./row-key.ts";

/** Lists users from the tokens of the index, without reading events. */
export function createUsers(database: Database, texts: IndexedTexts) {
  const countEntries = createCountEntries(database);

  return async function users(query: UserQuery, limit: number, signal?: AbortSignal) {
    const found: { userId: string; events: number }[] = [];
    const turns = new Turns(query.projectId, signal);
    for (const { token: word, text } of termsOf(query)) {
      const events = await countEntries(`"${word}"`, earliest, latest, turns);
      if (events > 0) found.push({ userId: text, events });
      if (found.length === limit) break;
      await turns.next();
    }
    return found;
  };

  function termsOf(query: UserQuery): Iterable<Term> {
    const { projectId } = query;
    return "userIds" in query
      ? query.userIds.map((text) => ({ token: token.user(projectId, text), text }))
      : texts.users(projectId, query.prefix, query.after);
  }
}
