import type { Selectable, Transaction } from "kysely";
import { Turns } from "../scheduling/turns.ts";
import { changingRevision } from "../storage/cohort-members.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";

/** Members that are read, and changed in one commit, at a time. */
const readRows = 5_000;
const commitRows = 500;

/** `revision`: null if nothing differs. */
type Stored = { isOver: boolean; revision: string | null };
type Member = { cohortId: string; userId: string; personId: string };

/**
 * Makes the stored members of a cohort those that were found, by changing only what differs. Returns the
 * new revision; null if nothing differs. It is many small commits, so that events are not held up. It is over early if
 * the cohort was changed, or somebody was erased, since it was claimed.
 *
 * Meanwhile its revision says that it is changing: what is read in between is not kept as the members of either.
 */
export async function storeMembers(
  store: Pick<Store, "control" | "together" | "rowsOf">,
  { id, projectId, dueAt }: Pick<Selectable<ControlTables["cohorts"]>, "id" | "projectId" | "dueAt">,
  people: ReadonlyMap<string, readonly string[]>,
): Promise<Stored> {
  const missing = new Map<string, string>();
  for (const [personId, ids] of people) for (const userId of ids) missing.set(userId, personId);
  const gone: string[] = [];
  const turns = new Turns(projectId);
  for (let after = ""; ; ) {
    const rows = await store.control
      .selectFrom("cohortMembers")
      .select(["userId", "personId"])
      .where("cohortId", "=", id)
      .where("userId", ">", after)
      .orderBy("userId")
      .limit(readRows)
      .execute();
    for (const { userId, personId } of rows) {
      const found = missing.get(userId);
      if (found === undefined) gone.push(userId);
      // Another person of the same ID is written over.
      else if (found === personId) missing.delete(userId);
    }
    if (rows.length < readRows) break;
    after = rows.at(-1)!.userId;
    await turns.next();
  }
  if (gone.length + missing.size === 0) return { isOver: false, revision: null };
  await setRevision(store, id, changingRevision);
  let isOver = false;
  const change = (run: (transaction: Transaction<ControlTables>) => Promise<void>) =>
    store.together("control", async (transaction) => {
      // Until the commit, nobody is erased and the cohort isn't changed.
      await transaction
        .updateTable("cohorts")
        .set({ dueAt })
        .where("id", "=", id)
        .where("dueAt", "=", dueAt)
        .execute();
      const row = await transaction
        .selectFrom("cohorts")
        .select("dueAt")
        .where("id", "=", id)
        .executeTakeFirst();
      isOver = row?.dueAt !== dueAt;
      if (!isOver) await run(transaction);
    });
  const added = [...missing].map(([userId, personId]): Member => ({ cohortId: id, userId, personId }));
  for (let at = 0; at < gone.length && !isOver; at += commitRows) {
    await change(async (transaction) => {
      await transaction
        .deleteFrom("cohortMembers")
        .where("cohortId", "=", id)
        .where("userId", "in", gone.slice(at, at + commitRows))
        .execute();
    });
    await turns.next();
  }
  for (let at = 0; at < added.length && !isOver; at += commitRows) {
    await change(async (transaction) => {
      await transaction
        .insertInto("cohortMembers")
        .columns(["cohortId", "userId", "personId"])
        .expression(
          store.rowsOf("cohortMembers", ["cohortId", "userId", "personId"], added.slice(at, at + commitRows)),
        )
        .onConflict((conflict) =>
          conflict
            .columns(["cohortId", "userId"])
            .doUpdateSet((eb) => ({ personId: eb.ref("excluded.personId") })),
        )
        .execute();
    });
    await turns.next();
  }
  const revision = crypto.randomUUID();
  await setRevision(store, id, revision);
  return { isOver, revision };
}

async function setRevision({ control }: Pick<Store, "control">, id: string, revision: string): Promise<void> {
  await control.updateTable("cohorts").set({ revision }).where("id", "=", id).execute();
}
