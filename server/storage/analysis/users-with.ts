import { type UserSet, UserSetBuilder } from "../../event/user-set.ts";
import { Turns } from "../../scheduling/turns.ts";
import { type Batch, Batches } from "./batch.ts";
import { grown } from "./grown.ts";
import { Users } from "./numbered.ts";
import type { UsersWithQuery, Watch } from "./queries.ts";
import type { Sources } from "./scan.ts";

/** Slots of users that are looked at between two looks at the clock. */
const slotsOfTurn = 4_096;

/** Finds the people who have enough events that match. All IDs of a person count together; the set has the main one. */
export async function usersWith(
  { scan, readPeople }: Sources,
  { projectId, filter, range, atLeast }: UsersWithQuery,
  watch: Watch,
): Promise<UserSet> {
  const fields = { users: true };
  const batches = new Batches(fields, [filter], new Users(await readPeople(projectId)));
  let counts = new Uint32Array(4_096);
  const take = ({ size, users }: Batch) => {
    for (let at = 0; at < size; at++) {
      const user = users[at]!;
      if (user === 0) continue;
      while (user >= counts.length) counts = grown(counts);
      counts[user]!++;
    }
  };
  await scan({ projectId, filters: [filter], range, fields }, batches, take, watch);
  const { users } = batches;
  let enough = 0;
  for (let user = 1; user <= users.count; user++) if (counts[user]! >= atLeast) enough++;
  const found = new UserSetBuilder(enough);
  const turns = new Turns(projectId);
  for (let slot = 0; slot < users.slots; slot++) {
    const user = users.numberIn(slot);
    if (user !== 0 && counts[user]! >= atLeast) found.addHash(...users.wordsIn(slot));
    if (slot % slotsOfTurn === 0 && turns.isOver) {
      await turns.next();
      watch.signal?.throwIfAborted();
    }
  }
  return found.set;
}
