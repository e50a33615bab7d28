import { ProblemError } from "../../problems.ts";
import { type Batch, type BatchAnswer, type Failed, WriteQueue } from "../queue.ts";
import type {
  AcceptedEvent,
  AppendCompanion,
  AppendResult,
  RejectedEvent,
  RejectedRetention,
} from "../store.ts";
import { type Commit, createAppend, type Unit } from "./append.ts";
import { bigints, integers, texts } from "./arrays.ts";
import type { Partitions } from "./partitions.ts";
import type { Query } from "./query.ts";
import { NewTexts } from "./vocabulary.ts";

/** Batches in progress at a time: while one waits for the disk or its answer, the database stores the other. */
export const batchesMax = 2;
/** Expired events deleted beyond the number that is added: enough that none accumulate, few enough to delay nothing. */
const expiredAtATime = 20;

type Append = ReturnType<typeof createAppend>;
/** A unit's results; null if its companion could not be recorded, or the error if it was not stored. */
type Outcome = AppendResult[] | null | Error;

/**
 * Stores events in batches. Events that arrive while two batches are in progress wait and share the next one (group
 * commit).
 */
export class Writer {
  readonly #runQuery: Query;
  readonly #partitions: Partitions;
  readonly #append: Append;
  readonly #onCommit: (commit: Commit) => void;
  readonly #onError: (error: unknown) => void;
  // The feed reports what was stored, in the order of arrival.
  readonly #queue = new WriteQueue(() => {});
  #inProgress = 0;
  #flushScheduled = false;
  #idle: (() => void)[] = [];

  constructor(
    runQuery: Query,
    node: string,
    partitions: Partitions,
    onCommit: (commit: Commit) => void,
    onError: (error: unknown) => void,
  ) {
    this.#runQuery = runQuery;
    this.#onError = onError;
    this.#partitions = partitions;
    this.#append = createAppend(runQuery, node, partitions, new NewTexts());
    this.#onCommit = onCommit;
  }

  append(event: AcceptedEvent): Promise<AppendResult> {
    const result = this.#queue.add(event);
    this.#scheduleFlush();
    return result;
  }

  appendAll(events: readonly AcceptedEvent[]): Promise<(AppendResult | Error)[]> {
    const results = this.#queue.addAll(events);
    this.#scheduleFlush();
    return results;
  }

  appendWith(events: readonly AcceptedEvent[], companion: AppendCompanion): Promise<AppendResult[] | null> {
    const results = this.#queue.addWith(events, companion);
    this.#scheduleFlush();
    return results;
  }

  keepRejected(rejected: readonly RejectedEvent[], retention: RejectedRetention): Promise<void> {
    const kept = this.#queue.addRejected(rejected, retention);
    this.#scheduleFlush();
    return kept;
  }

  /** Resolves once everything that waits is stored. */
  async close(): Promise<void> {
    while (this.#inProgress > 0 || !this.#queue.isEmpty) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  get #mustWait(): boolean {
    return this.#inProgress >= batchesMax || this.#queue.isEmpty;
  }

  // Requests that were read in one turn of the event loop share a commit, so it starts after them.
  #scheduleFlush(): void {
    if (this.#flushScheduled || this.#mustWait) return;
    this.#flushScheduled = true;
    setImmediate(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#mustWait) return;
    const batch = this.#queue.take();
    this.#inProgress++;
    this.#store(batch)
      .catch((error: Error) => {
        batch.fail(error);
        // Waiting events would fail the same way, each batch after its own wait. Reject them now, so that clients can
        // retry.
        if (error instanceof ProblemError) this.#queue.rejectAll(error);
      })
      .finally(() => {
        this.#inProgress--;
        this.#flush();
        if (this.#inProgress === 0) for (const resolve of this.#idle.splice(0)) resolve();
      });
  }

  async #store(batch: Batch): Promise<void> {
    const { events, withCompanion, rejected } = batch;
    const units: Unit[] = events.map((event) => ({ events: [event], companion: null }));
    for (const each of withCompanion) units.push(each);
    const [outcomes] = await Promise.all([
      units.length === 0 ? [] : this.#storeUnits(units),
      // Their senders get the rejection, even if this fails.
      rejected && this.#keepRejected(rejected.events, rejected.retention).catch(this.#onError),
    ]);
    const errors: Error[] = [];
    batch.complete(resultsOf(outcomes, events.length, errors), ({ code }) => errors[Number(code)]!);
  }

  /**
   * Stores units in one transaction. A unit that can't be stored, such as an event of a deleted project, must not fail
   * the others. So if the transaction fails, each half is stored in one of its own, and so on.
   */
  async #storeUnits(units: Unit[]): Promise<Outcome[]> {
    try {
      return await this.#storeTogether(units);
    } catch (error) {
      if (error instanceof ProblemError) throw error;
      if (units.length === 1) return [error as Error];
      const half = units.length >> 1;
      return [
        ...(await this.#storeUnits(units.slice(0, half))),
        ...(await this.#storeUnits(units.slice(half))),
      ];
    }
  }

  async #storeTogether(units: Unit[]): Promise<Outcome[]> {
    let stored: Awaited<ReturnType<Append>>;
    try {
      stored = await this.#append(units);
    } catch (error) {
      // An event's partition is missing: another node has dropped it.
      if ((error as { code?: string }).code !== "23514") throw error;
      this.#partitions.forget();
      stored = await this.#append(units);
    }
    this.#onCommit(stored.commit);
    return stored.results;
  }

  async #keepRejected(rejected: readonly RejectedEvent[], retention: RejectedRetention): Promise<void> {
    await this.#runQuery("SELECT keep_rejected($1, $2, $3, $4, $5, $6, $7, $8, $9)", [
      integers(rejected.map(({ projectId }) => projectId)),
      texts(rejected.map(({ keyId }) => keyId)),
      texts(
        rejected.map(({ body }) => body),
        "bytea",
      ),
      integers(rejected.map(({ cut }) => (cut ? 1 : 0))),
      texts(rejected.map(({ problem }) => problem)),
      bigints(rejected.map(({ rejectedAt }) => rejectedAt)),
      retention.events,
      rejected.at(-1)!.rejectedAt - retention.ms,
      rejected.length + expiredAtATime,
    ]);
  }
}

/** The outcomes in the queue's form. The code of a failure is its index in `errors`. */
function resultsOf(outcomes: Outcome[], events: number, errors: Error[]): BatchAnswer {
  const failed = (error: Error): Failed => ({
    kind: "failed",
    code: String(errors.push(error) - 1),
    message: error.message,
  });
  const listed: BatchAnswer["results"] = [];
  for (let index = 0; index < events; index++) {
    const outcome = outcomes[index]!;
    const result = outcome instanceof Error ? failed(outcome) : outcome![0]!;
    if (result.kind !== "created" || result.notified) listed.push([index, result]);
  }
  const withCompanion = outcomes
    .slice(events)
    .map((outcome) => (outcome instanceof Error ? failed(outcome) : outcome));
  return { results: listed, withCompanion };
}
