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

/** Batches that are under way at a time: one waits for the disk, or has its answer under way, while the database stores the other. */
export const batchesMax = 2;
/** Rejected events that go for their age whenever some are kept: more than came, and few enough to hold nobody up. */
const expiredAtATime = 20;

type Append = ReturnType<typeof createAppend>;
/** What became of a unit: its verdicts, null where its tie could not be made, or why it was not stored. */
type Outcome = AppendResult[] | null | Error;

/** Stores what comes, in batches: events that come while two are under way wait and share the next one (group commit). */
export class Writer {
  readonly #ask: Query;
  readonly #partitions: Partitions;
  readonly #append: Append;
  readonly #onCommit: (commit: Commit) => void;
  readonly #onError: (error: unknown) => void;
  // What was stored is told in the order of arrival, by the feed.
  readonly #queue = new WriteQueue(() => {});
  #underWay = 0;
  #flushScheduled = false;
  #idle: (() => void)[] = [];

  constructor(
    ask: Query,
    node: string,
    partitions: Partitions,
    onCommit: (commit: Commit) => void,
    onError: (error: unknown) => void,
  ) {
    this.#ask = ask;
    this.#onError = onError;
    this.#partitions = partitions;
    this.#append = createAppend(ask, node, partitions, new NewTexts());
    this.#onCommit = onCommit;
  }

  append(event: AcceptedEvent): Promise<AppendResult> {
    const verdict = this.#queue.add(event);
    this.#scheduleFlush();
    return verdict;
  }

  appendAll(events: readonly AcceptedEvent[]): Promise<(AppendResult | Error)[]> {
    const verdicts = this.#queue.addAll(events);
    this.#scheduleFlush();
    return verdicts;
  }

  appendTied(events: readonly AcceptedEvent[], tie: AppendCompanion): Promise<AppendResult[] | null> {
    const verdicts = this.#queue.addWith(events, tie);
    this.#scheduleFlush();
    return verdicts;
  }

  keepRejected(rejected: readonly RejectedEvent[], keeping: RejectedRetention): Promise<void> {
    const kept = this.#queue.addRejected(rejected, keeping);
    this.#scheduleFlush();
    return kept;
  }

  /** Stores what waits. */
  async close(): Promise<void> {
    while (this.#underWay > 0 || !this.#queue.isEmpty) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  get #isHeld(): boolean {
    return this.#underWay >= batchesMax || this.#queue.isEmpty;
  }

  // Requests that were read in one turn of the event loop are to share a commit: it starts after them.
  #scheduleFlush(): void {
    if (this.#flushScheduled || this.#isHeld) return;
    this.#flushScheduled = true;
    setImmediate(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#isHeld) return;
    const batch = this.#queue.take();
    this.#underWay++;
    this.#store(batch)
      .catch((error: Error) => {
        batch.fail(error);
        // What waits would meet the same, each batch after a wait of its own; told now, its client can come again.
        if (error instanceof ProblemError) this.#queue.rejectAll(error);
      })
      .finally(() => {
        this.#underWay--;
        this.#flush();
        if (this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve();
      });
  }

  async #store(batch: Batch): Promise<void> {
    const { events, tied, rejected } = batch;
    const units: Unit[] = events.map((event) => ({ events: [event], tied: null }));
    for (const each of tied) units.push({ events: each.events, tied: each });
    const [outcomes] = await Promise.all([
      units.length === 0 ? [] : this.#storeUnits(units),
      // Who sent them is told of the rejection all the same.
      rejected && this.#keepRejected(rejected.events, rejected.keeping).catch(this.#onError),
    ]);
    const errors: Error[] = [];
    batch.settle(answerOf(outcomes, events.length, errors), ({ code }) => errors[Number(code)]!);
  }

  /**
   * Stores units in one transaction. Where one can't be stored, such as an event of a project that is gone, it is not to reject those that
   * share its transaction: then in two, and so on.
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
      // No partition holds an event: another node has dropped it meanwhile.
      if ((error as { code?: string }).code !== "23514") throw error;
      this.#partitions.forget();
      stored = await this.#append(units);
    }
    this.#onCommit(stored.commit);
    return stored.verdicts;
  }

  async #keepRejected(rejected: readonly RejectedEvent[], keeping: RejectedRetention): Promise<void> {
    await this.#ask("SELECT keep_rejected($1, $2, $3, $4, $5, $6, $7, $8, $9)", [
      integers(rejected.map(({ projectId }) => projectId)),
      texts(rejected.map(({ keyId }) => keyId)),
      texts(
        rejected.map(({ body }) => body),
        "bytea",
      ),
      integers(rejected.map(({ cut }) => (cut ? 1 : 0))),
      texts(rejected.map(({ problem }) => problem)),
      bigints(rejected.map(({ rejectedAt }) => rejectedAt)),
      keeping.events,
      rejected.at(-1)!.rejectedAt - keeping.ms,
      rejected.length + expiredAtATime,
    ]);
  }
}

/** The outcomes as the queue takes them; a failure's code is its place among `errors`. */
function answerOf(outcomes: Outcome[], events: number, errors: Error[]): BatchAnswer {
  const failed = (error: Error): Failed => ({
    kind: "failed",
    code: String(errors.push(error) - 1),
    message: error.message,
  });
  const news: BatchAnswer["news"] = [];
  for (let index = 0; index < events; index++) {
    const outcome = outcomes[index]!;
    const verdict = outcome instanceof Error ? failed(outcome) : outcome![0]!;
    if (verdict.kind !== "created" || verdict.notified) news.push([index, verdict]);
  }
  const tied = outcomes
    .slice(events)
    .map((outcome) => (outcome instanceof Error ? failed(outcome) : outcome));
  return { news, tied };
}
