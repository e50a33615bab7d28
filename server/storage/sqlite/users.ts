import type { Database } from "bun:sqlite";
import { Turns } from "../../turns.ts";
import type { UserQuery } from "../store.ts";
import { createCountEntries } from "./count-entries.ts";
import type { IndexedTexts } from "./indexed-texts.ts";
import { earliest, latest } from "./row-key.ts";

/** Lists users from the tokens of the index, without reading events. */
export function createUsers(database: Database, texts: IndexedTexts) {
  const countEntries = createCountEntries(database);

  return async function users({ projectId, prefix, after }: UserQuery, limit: number) {
    const found: { userId: string; events: number }[] = [];
    const turns = new Turns();
    for (const { token, text } of texts.users(projectId, prefix, after)) {
      const events = await countEntries(`"${token}"`, earliest, latest, turns);
      if (events > 0) found.push({ userId: text, events });
      if (found.length === limit) break;
      await turns.next();
    }
    return found;
  };
}
