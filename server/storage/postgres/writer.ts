import { ProblemError } from "../../core/problems.ts";
import type { AppendResult } from "../event-store.ts";
import { type Batch, type BatchResults, GroupCommit } from "../group-commit.ts";
import { type Commit, createAppend, type Unit } from "./append.ts";
import { bigints, integers, texts } from "./arrays.ts";
import { isOlderUnavailable, type OlderEvents, shippedIdCode } from "./older.ts";
import type { Partitions } from "./partitions.ts";
import type { Query } from "./query.ts";
import { NewTexts } from "./vocabulary.ts";

/** Expired events deleted beyond the number that is added: enough that none accumulate, few enough to delay nothing. */
const expiredAtATime = 20;

/** How often a batch is tried again after what it lacked was created. */
const mendsMax = 3;

/** A unit's results; null if its companion could not be recorded, or the error if it was not stored. */
type Outcome = AppendResult[] | null | Error;

type Deps = {
  runQuery: Query;
  node: string;
  partitions: Partitions;
  /** The events that are not in PostgreSQL. */
  older: OlderEvents | null;
  onCommit: (commit: Commit) => void;
  onError: (error: unknown) => void;
};

/** Stores events. `onCommit` is told of them; the feed reports them, in the order of arrival. */
export function createWriter({ runQuery, node, partitions, older, onCommit, onError }: Deps): GroupCommit {
  const append = createAppend(runQuery, node, partitions, new NewTexts());
  return new GroupCommit(commit);

  async function commit({ events, withCompanion, rejected }: Batch): Promise<BatchResults> {
    const units: Unit[] = events.map((event) => ({ events: [event], companion: null }));
    for (const each of withCompanion) units.push(each);
    const [outcomes] = await Promise.all([
      units.length === 0 ? [] : storeUnits(units),
      // Their senders get the rejection, even if this fails.
      rejected && keepRejected(rejected).catch(onError),
    ]);
    return {
      // The database waits for the disk while others append, so the time is nobody's own.
      syncMs: null,
      listed: outcomes
        .slice(0, events.length)
        .map((outcome, index) => [index, outcome instanceof Error ? outcome : outcome![0]!]),
      withCompanion: outcomes.slice(events.length),
    };
  }

  /**
   * Stores units in one transaction. A unit that can't be stored, such as an event of a deleted project, must not fail
   * the others. So if the transaction fails, each half is stored in one of its own, and so on.
   */
  async function storeUnits(units: Unit[]): Promise<Outcome[]> {
    try {
      return await storeTogether(units);
    } catch (error) {
      // Only events that are sent again wait for ClickHouse.
      if (error instanceof ProblemError && !isOlderUnavailable(error)) throw error;
      if (units.length === 1) return [error as Error];
      const half = units.length >> 1;
      return [...(await storeUnits(units.slice(0, half))), ...(await storeUnits(units.slice(half)))];
    }
  }

  async function storeTogether(units: Unit[]): Promise<Outcome[]> {
    const stored = await appendOrMend(units, mendsMax);
    onCommit(stored.commit);
    return stored.results;
  }

  async function appendOrMend(units: Unit[], mends: number): ReturnType<typeof append> {
    try {
      return await append(units);
    } catch (error) {
      const { code } = error as { code?: string };
      if (mends === 0) throw error;
      // An event's partition is missing: another node has dropped it.
      if (code === "23514") partitions.invalidate();
      else if (code === shippedIdCode && older) await older.restore(units.flatMap(({ events }) => events));
      else throw error;
      return appendOrMend(units, mends - 1);
    }
  }

  async function keepRejected({ events, retention }: NonNullable<Batch["rejected"]>): Promise<void> {
    await runQuery("SELECT keep_rejected($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", [
      integers(events.map(({ projectId }) => projectId)),
      texts(events.map(({ keyId }) => keyId)),
      texts(
        events.map(({ body }) => body),
        "bytea",
      ),
      integers(events.map(({ cut }) => (cut ? 1 : 0))),
      texts(events.map(({ problem }) => problem)),
      texts(events.map(({ reason }) => reason)),
      bigints(events.map(({ rejectedAt }) => rejectedAt)),
      retention.events,
      events.at(-1)!.rejectedAt - retention.ms,
      events.length + expiredAtATime,
    ]);
  }
}
