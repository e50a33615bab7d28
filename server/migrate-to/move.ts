import { copyEvents } from "./copy-events.ts";
import { copyTables } from "./copy-tables.ts";
import { agrees, type Compared, prove } from "./proof.ts";
import { MoveRefused, Source } from "./source.ts";
import type { StoredEvent } from "./stored-event.ts";
import { differences, tables } from "./tables.ts";
import { Target } from "./target.ts";

/** Events removed at a time. */
const removedEvents = 1_000;

/** A stage of the move: its total, and how much of it was done before. */
export type Stage = { name: "tables" | "events" | "proof"; total: number; before: number };

/** Receives the progress. */
export type MoveWatch = {
  begun: (stage: Stage) => void;
  /** `count` more of the stage is done. */
  done: (count: number) => void;
  ended: () => void;
  onError: (error: Error) => void;
};

/**
 * Copies a data directory into a PostgreSQL database, and returns the comparison of both. It continues an earlier call.
 * The directory keeps its data.
 *
 * Throws `MoveRefused` if the directory can't be moved into this database.
 *
 * Invariant: a moved event keeps its id, its timestamps and its place in the order of arrival. Nothing is moved into a
 * database that was in use. Checked by `server/migrate-to/move.test.ts` and `server/migrate-to/refused.test.ts`.
 */
export async function move(dataDirectory: string, url: string, watch: MoveWatch): Promise<Compared[]> {
  const source = new Source(dataDirectory);
  try {
    const target = await Target.open(url, watch.onError);
    try {
      return await moveAll(source, target, watch);
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}

async function moveAll(source: Source, target: Target, watch: MoveWatch): Promise<Compared[]> {
  await refuseOther(source, target);
  await target.begin();
  const rows = tables.reduce((sum, table) => sum + source.countRows(table), 0);
  const events = source.countEvents();
  const during = async <Result>(stage: Stage, work: () => Promise<Result>): Promise<Result> => {
    watch.begun(stage);
    const result = await work();
    watch.ended();
    return result;
  };

  await during({ name: "tables", total: rows, before: 0 }, () => copyTables(source, target, watch.done));
  await during({ name: "events", total: events, before: await target.countEvents() }, () =>
    copyEvents(source, target, watch.done),
  );
  await target.analyze();
  const proof = () =>
    during({ name: "proof", total: rows + events, before: 0 }, () => prove(source, target, watch.done));
  let compared = await proof();
  // Events can have been removed from the directory since an earlier call copied them.
  if (await removeGone(source, target, compared)) compared = await proof();
  if (compared.every(agrees)) await target.finish();
  return compared;
}

/** Refuses a database into which another installation is being moved. Its secret or its accounts are different. */
async function refuseOther(source: Source, target: Target): Promise<void> {
  if (!(await target.isBegun())) return;
  const [here, there] = [source.setting("authSecret"), await target.setting("authSecret")];
  const isOther = there !== null && there !== here;
  if (isOther || (await target.hasOtherAccounts(source.accountIds()))) {
    throw new MoveRefused("Another data directory is being moved to that database. Use an empty database.");
  }
}

/** Removes events that the source no longer has. Returns whether there were any. */
async function removeGone(source: Source, target: Target, compared: Compared[]): Promise<boolean> {
  let isAny = false;
  for (const { projectId, ...sums } of compared) {
    if (projectId === null || agrees(sums)) continue;
    const gone: StoredEvent[] = [];
    const remove = async () => {
      isAny = true;
      await target.removeEvents(projectId, gone.splice(0));
    };
    for await (const difference of differences(source.eventsOf(projectId), target.eventsOf(projectId))) {
      if (difference.kind !== "extra") continue;
      gone.push(difference.there);
      if (gone.length === removedEvents) await remove();
    }
    if (gone.length > 0) await remove();
  }
  return isAny;
}
