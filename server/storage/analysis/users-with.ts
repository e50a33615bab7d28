import { UserSetBuilder } from "../../event/user-set.ts";
import { Turns } from "../../scheduling/turns.ts";
import { type Batch, Batches } from "./batch.ts";
import { grown } from "./grown.ts";
import { Users } from "./numbered.ts";
import type { UsersWith, UsersWithQuery, Watch } from "./queries.ts";
import type { Sources } from "./scan.ts";

/** Slots of users that are looked at between two looks at the clock. */
const slotsOfTurn = 4_096;

/**
 * Finds the people who have enough events that match. All IDs of a person count together; the set has the main one. With
 * `edgeToMs`, it reads the events up to there once more, and takes them away in their order until somebody has too few.
 */
export async function usersWith(
  { scan, readPeople }: Sources,
  { projectId, filter, range, atLeast, edgeToMs }: UsersWithQuery,
  watch: Watch,
): Promise<UsersWith> {
  const fields = { users: true };
  const users = new Users(await readPeople(projectId));
  let counts = new Uint32Array(4_096);
  const count = (batch: Batch) => {
    for (let at = 0; at < batch.size; at++) {
      const user = batch.users[at]!;
      if (user === 0) continue;
      while (user >= counts.length) counts = grown(counts);
      counts[user]!++;
    }
  };
  const query = { projectId, filters: [filter], fields };
  await scan({ ...query, range }, new Batches(fields, [filter], users), count, watch);
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
  if (edgeToMs === undefined || enough === 0) return { users: found.set, firstLossMs: null };
  let firstLossMs: number | null = null;
  const takeAway = (batch: Batch) => {
    for (let at = 0; at < batch.size && firstLossMs === null; at++) {
      const user = batch.users[at]!;
      // Users of events that have just arrived have no count.
      if (user !== 0 && user < counts.length && counts[user]!-- === atLeast) firstLossMs = batch.ms[at]!;
    }
  };
  const edge = { fromMs: range.fromMs, toMs: Math.min(edgeToMs, range.toMs) };
  await scan({ ...query, range: edge }, new Batches(fields, [filter], users), takeAway, watch);
  return { users: found.set, firstLossMs };
}
