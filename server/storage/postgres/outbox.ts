import type { TakeOutbox } from "../store.ts";

/** Deletes at once: this locks the entries, so that a removal of their events waits and then finds their deliveries. */
export const takeOutbox: TakeOutbox = async (transaction, ids) => {
  const entries = await transaction
    .deleteFrom("outbox")
    // An empty list is not valid SQL.
    .where("id", "in", [0, ...ids])
    .returningAll()
    .execute();
  return entries.sort((a, b) => a.id - b.id);
};
