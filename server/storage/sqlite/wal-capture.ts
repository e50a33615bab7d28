import { rmSync } from "node:fs";
import { threadFile } from "../../process/program-files.ts";
import type { Pause } from "../event-store.ts";
import type { SegmentSource } from "../segment-source.ts";
import type { StoreWatch } from "../store.ts";
import { prepareDirectory } from "./directory.ts";
import type { FollowRequest, FollowTask } from "./follow-thread.ts";
import { SegmentDirectory } from "./segment-directory.ts";
import { endThread } from "./threads.ts";
import type { FollowStatus } from "./wal-follower.ts";

/** How far apart recovery points are, while something is committed. */
const captureEveryMs = 1_000;
const shippedPollMs = 200;

/** Runs work while nothing is committed by this process. */
type WithoutCommits = (work: () => Promise<void>) => Promise<void>;

/** The HTTP thread's side of the follower. */
export class WalCapture implements SegmentSource {
  readonly #thread: Worker;
  #status: FollowStatus;
  #timer: Timer;
  #outstanding: (() => void)[] = [];
  #isRestarting = false;
  #isClosed = false;
  /** Set once the writer runs. */
  withoutCommits: WithoutCommits | null = null;

  private constructor(thread: Worker, status: FollowStatus) {
    this.#thread = thread;
    this.#status = status;
    this.#timer = setInterval(() => void this.#capture(), captureEveryMs);
    this.#timer.unref();
  }

  /**
   * Follows the log, if changes are backed up, and continues where the last run ended. Call it before anything else
   * opens the database, which would move the log's pages.
   */
  static async start(
    dataDirectory: string,
    { segmentsTo, mayUpgrade }: Pick<StoreWatch, "segmentsTo" | "mayUpgrade">,
    onFatal: (error: Error) => void,
  ): Promise<WalCapture | null> {
    if (segmentsTo === undefined) {
      // A server that made continuous backups before. A command may run beside one that does.
      if (mayUpgrade) new SegmentDirectory(dataDirectory).removeAll();
      return null;
    }
    prepareDirectory(dataDirectory);
    const task: FollowTask = { dataDirectory, target: segmentsTo };
    const thread = new Worker(threadFile("follow").href, { argv: [JSON.stringify(task)], smol: true });
    const status = await new Promise<FollowStatus>((resolve, reject) => {
      thread.onerror = (event) => reject(new Error(event.message));
      thread.onmessage = ({ data }: MessageEvent<FollowStatus>) => resolve(data);
    });
    const capture = new WalCapture(thread, status);
    // Its connections would keep the log from being restarted for ever.
    thread.onerror = (event) =>
      onFatal(new Error(`The thread that follows the write-ahead log failed: ${event.message}`));
    thread.onmessage = ({ data }: MessageEvent<FollowStatus>) => {
      capture.#status = data;
      capture.#outstanding.shift()?.();
    };
    return capture;
  }

  get generation(): string | null {
    return this.#status.generation;
  }

  get interruption(): string | null {
    return this.#status.interruption;
  }

  get unshippedSinceMs(): number | null {
    return this.#status.unshippedSinceMs;
  }

  get waiting() {
    return this.#status.waiting;
  }

  async begin(): Promise<void> {
    await this.#send({ kind: "begin" });
  }

  async cut(): Promise<void> {
    await this.#send({ kind: "cut" });
  }

  async shipped(name: string): Promise<void> {
    const segment = this.waiting.find((waiting) => waiting.name === name);
    if (this.#isClosed && segment) rmSync(segment.file, { force: true });
    if (!this.#isClosed) await this.#send({ kind: "shipped", name });
  }

  async interrupt(why: string): Promise<void> {
    await this.#send({ kind: "interrupt", why });
  }

  /** Has the next commit restart the log, if all of it can be captured. Call it while nothing is committed. */
  async restartLog(): Promise<void> {
    await this.#send({ kind: "restartLog" });
  }

  /**
   * Waits until everything that was captured is shipped. If it takes too long, gives up the generation, so that nothing
   * of it is left here.
   */
  async shippedAll(pause: Pause, withinMs: number): Promise<void> {
    await this.cut();
    const names = new Set(this.waiting.map(({ name }) => name));
    for (const endMs = performance.now() + withinMs; this.waiting.some(({ name }) => names.has(name)); ) {
      if (performance.now() > endMs) return this.interrupt("an erasure removed changes that waited too long");
      await Bun.sleep(shippedPollMs);
      await pause();
    }
  }

  /** Captures the rest. Call it after all other connections of the process are closed. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#send({ kind: "close" });
    this.#isClosed = true;
    await endThread(this.#thread);
  }

  async #capture(): Promise<void> {
    if (this.#status.generation === null || this.#outstanding.length > 0) return;
    await this.#send({ kind: "capture" });
    if (!this.#status.isLong || !this.withoutCommits || this.#isRestarting) return;
    this.#isRestarting = true;
    try {
      await this.withoutCommits(() => this.restartLog());
    } finally {
      this.#isRestarting = false;
    }
  }

  #send(request: FollowRequest): Promise<void> {
    return new Promise((resolve) => {
      this.#outstanding.push(resolve);
      this.#thread.postMessage(request);
    });
  }
}
