import type { Database } from "bun:sqlite";
import type { UserQuery } from "../store.ts";
import type { IndexedTexts } from "./indexed-texts.ts";
import { Turns } from "./turns.ts";

/** Makes the function that lists users: from the index's tokens, without a look at the events. */
export function createUsers(database: Database, texts: IndexedTexts) {
  const selectCount = database.prepare<{ events: number }, [string]>(
    "SELECT count(*) AS events FROM events_index WHERE events_index MATCH ?1",
  );

  return async function users({ projectId, prefix, after }: UserQuery, limit: number) {
    const found: { userId: string; events: number }[] = [];
    const turns = new Turns();
    for (const { token, text } of texts.users(projectId, prefix, after)) {
      const { events } = selectCount.get(`"${token}"`)!;
      if (events > 0) found.push({ userId: text, events });
      if (found.length === limit) break;
      await turns.next();
    }
    return found;
  };
}
