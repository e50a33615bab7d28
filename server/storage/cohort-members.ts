import type { Kysely, Selectable, Transaction } from "kysely";
import { LRUCache } from "lru-cache";
import { limits } from "../core/limits.ts";
import { type UserSet, UserSetBuilder } from "../event/user-set.ts";
import { outsideRequests, requestSignal } from "../scheduling/deadline.ts";
import { Turns } from "../scheduling/turns.ts";
import type { ControlTables } from "./control-tables.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/**
 * The members of cohorts, as searches use them: a few IDs, or a set that threads share. A revision names the members for
 * good, so they are cached by it, whichever store they are of.
 *
 * Invariant: the members of cohorts that are kept in memory are bounded. Checked by `server/storage/cohorts.test.ts`.
 */
export type Members = { ids: string[] } | { set: UserSet };
export type CohortRow = Pick<
  Selectable<ControlTables["cohorts"]>,
  "id" | "projectId" | "name" | "ids" | "revision"
>;

/** The revision of a cohort whose members are being changed. */
export const changingRevision = "changing";
/** Members that one statement reads. Parsing so many rows takes about a millisecond. */
const stepRows = 1_000;
/** The members of a small cohort are searched for like users in a search: an index finds their events at once. */
export const smallCohortIds = 200;

/** The members of cohorts, and of groups. */
export const memberCache = new LRUCache<string, Members>({
  maxSize: limits.cohortBytes,
  sizeCalculation: (members) =>
    "set" in members ? members.set.slots.byteLength : 1_024 + members.ids.length * 256,
});
/** Searches that need the same members share one read. */
const reads = new WeakMap<Control, Map<string, Promise<Members>>>();

/** The members of a cohort. Throws the reason of the request's signal if it ends first. */
export async function membersOf(control: Control, row: CohortRow): Promise<Members> {
  if (row.ids === null) return { ids: [] };
  const cached = memberCache.get(row.revision);
  if (cached) return cached;
  const ofStore = reads.get(control) ?? new Map<string, Promise<Members>>();
  reads.set(control, ofStore);
  const key = `${row.id} ${row.revision}`;
  let reading = ofStore.get(key);
  if (!reading) {
    // The others go on waiting if this request ends.
    reading = outsideRequests(() => readMembers(control, row)).finally(() => ofStore.delete(key));
    ofStore.set(key, reading);
  }
  const members = await reading;
  requestSignal()?.throwIfAborted();
  return members;
}

async function readMembers(control: Control, { id, projectId, ids, revision }: CohortRow): Promise<Members> {
  const turns = new Turns(projectId);
  const members = new MembersBuilder(ids ?? 0);
  for (let after = ""; ; ) {
    const rows = await control
      .selectFrom("cohortMembers")
      .select("userId")
      .where("cohortId", "=", id)
      .where("userId", ">", after)
      .orderBy("userId")
      .limit(stepRows)
      .execute();
    for (const { userId } of rows) {
      members.add(userId);
      if (turns.isOver) await turns.next();
    }
    if (rows.length < stepRows) break;
    after = rows.at(-1)!.userId;
  }
  const now = await control.selectFrom("cohorts").select("revision").where("id", "=", id).executeTakeFirst();
  // Members read during a change are a mixture: they serve this read, and are read again by the next one.
  if (now?.revision === revision && revision !== changingRevision) memberCache.set(revision, members.built);
  return members.built;
}

/** Keeps the members of a new revision, for the process that has just computed them. */
export async function rememberMembers(
  projectId: number,
  revision: string,
  userIds: readonly string[],
): Promise<void> {
  const turns = new Turns(projectId);
  const members = new MembersBuilder(userIds.length);
  for (const userId of userIds) {
    members.add(userId);
    if (turns.isOver) await turns.next();
  }
  memberCache.set(revision, members.built);
}

/** Makes of IDs what suits their number. */
export class MembersBuilder {
  readonly #expected: number;
  #ids: string[] = [];
  #set: UserSetBuilder | null = null;

  /** @param expected - about how many there are: growing a large set takes a long turn */
  constructor(expected: number) {
    this.#expected = expected;
  }

  add(userId: string): void {
    if (this.#set) {
      this.#set.add(userId);
      return;
    }
    this.#ids.push(userId);
    if (this.#ids.length <= smallCohortIds) return;
    this.#set = new UserSetBuilder(Math.max(this.#expected, this.#ids.length));
    for (const each of this.#ids) this.#set.add(each);
    this.#ids = [];
  }

  get built(): Members {
    return this.#set ? { set: this.#set.set } : { ids: this.#ids };
  }
}
