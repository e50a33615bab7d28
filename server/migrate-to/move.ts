import { copyEvents } from "./copy-events.ts";
import { copyTables } from "./copy-tables.ts";
import { agrees, type Compared, prove } from "./proof.ts";
import { MoveRefused, Source } from "./source.ts";
import type { StoredEvent } from "./stored-event.ts";
import { differences, tables } from "./tables.ts";
import { Target } from "./target.ts";

/** Events removed or changed at a time. */
const correctedEvents = 1_000;
/** Copying ahead ends when it found fewer new events than this. */
const restEvents = 10_000;

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
  return between(dataDirectory, "alone", url, watch, async (source, target) => {
    const total = await copy(source, target, watch);
    await target.analyze();
    const proof = () =>
      during(watch, { name: "proof", total, before: 0 }, () => prove(source, target, watch.done));
    let compared = await proof();
    // Events can have been removed from the directory, or notify, since an earlier call copied them.
    if (await correct(source, target, compared)) compared = await proof();
    if (compared.every(agrees)) await target.finish();
    return compared;
  });
}

/**
 * Copies what a data directory has while a server uses it, so that `move` has little left to do. Returns the number of
 * events that are in the PostgreSQL database then. Throws `MoveRefused` like `move`.
 */
export function copyAhead(dataDirectory: string, url: string, watch: MoveWatch): Promise<number> {
  return between(dataDirectory, "beside a server", url, watch, async (source, target) => {
    for (let before = await target.countEvents(); ; ) {
      await copy(source, target, watch);
      const events = await target.countEvents();
      if (events - before < restEvents) return events;
      before = events;
    }
  });
}

async function between<Result>(
  dataDirectory: string,
  use: ConstructorParameters<typeof Source>[1],
  url: string,
  watch: MoveWatch,
  work: (source: Source, target: Target) => Promise<Result>,
): Promise<Result> {
  const source = new Source(dataDirectory, use);
  try {
    const target = await Target.open(url, watch.onError);
    try {
      await refuseOther(source, target);
      await target.begin();
      return await work(source, target);
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}

/** Copies tables, and the events that arrived before. Returns the number of rows and events. */
async function copy(source: Source, target: Target, watch: MoveWatch): Promise<number> {
  const last = source.lastArrival();
  const events = source.countEvents();
  const rows = await source.inOneState(async () => {
    const rows = tables.reduce((sum, table) => sum + source.countRows(table), 0);
    await during(watch, { name: "tables", total: rows, before: 0 }, () =>
      copyTables(source, target, watch.done),
    );
    return rows;
  });
  await during(watch, { name: "events", total: events, before: await target.countEvents() }, () =>
    copyEvents(source, target, last, watch.done),
  );
  return rows + events;
}

async function during<Result>(watch: MoveWatch, stage: Stage, work: () => Promise<Result>): Promise<Result> {
  watch.begun(stage);
  const result = await work();
  watch.ended();
  return result;
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

/**
 * Removes events that the source no longer has, and corrects which ones notified: they can begin to, and deliveries are
 * deleted after a while. Returns whether there were any.
 */
async function correct(source: Source, target: Target, compared: Compared[]): Promise<boolean> {
  let isAny = false;
  for (const { projectId, ...sums } of compared) {
    if (projectId === null || agrees(sums)) continue;
    const gone: StoredEvent[] = [];
    const changed: StoredEvent[] = [];
    const write = async (least: number) => {
      if (gone.length >= least) await target.removeEvents(projectId, gone.splice(0));
      if (changed.length >= least) await target.setNotified(projectId, changed.splice(0));
    };
    for await (const difference of differences(source.eventsOf(projectId), target.eventsOf(projectId))) {
      if (difference.kind === "extra") gone.push(difference.there);
      else if (difference.kind === "other" && difference.here.json === difference.there.json)
        changed.push(difference.here);
      else continue;
      isAny = true;
      await write(correctedEvents);
    }
    await write(1);
  }
  return isAny;
}
