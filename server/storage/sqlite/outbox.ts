import { sql } from "kysely";
import type { TakeOutbox } from "../store.ts";

export const takeOutbox: TakeOutbox = async (transaction, ids) => {
  // One parameter, so that the statements are the same for any number of entries.
  const listed = sql<number>`(SELECT value FROM json_each(${JSON.stringify(ids)}))`;
  const entries = await transaction
    .selectFrom("outbox")
    .selectAll()
    .where("id", "in", listed)
    .orderBy("id")
    .execute();
  await transaction.deleteFrom("outbox").where("id", "in", listed).execute();
  return entries;
};
