import { threadFile } from "../../process/program-files.ts";
import type { CheckpointAnswer, CheckpointRequest } from "./checkpoint-thread.ts";
import type { ErrorOf } from "./damage.ts";
import { isFatal } from "./failure.ts";
import { endThread, startThread } from "./threads.ts";

/** Commits before a checkpoint, which write some 20 pages each, and the pause after it. */
const commitsMin = 100;
const pauseMs = 250;
/** The pause after an attempt to make room on a full disk. */
const roomPauseMs = 1_000;

/** The HTTP thread's side of the checkpointer. Its thread is started when it is needed first: idle, it takes 2 MB. */
export class Checkpoints {
  readonly #dataDirectory: string;
  readonly #errorOf: ErrorOf;
  readonly #onFatal: (error: Error) => void;
  #thread: Worker | null = null;
  #commits = 0;
  /** A checkpoint is running, or the pause after it. */
  #isBusy = false;
  #running: Promise<void> | null = null;
  #isClosed = false;

  /** @param onFatal - called when the disk can't be trusted */
  constructor(dataDirectory: string, errorOf: ErrorOf, onFatal: (error: Error) => void) {
    this.#dataDirectory = dataDirectory;
    this.#errorOf = errorOf;
    this.#onFatal = onFatal;
  }

  /** Call it after each commit. */
  committed(): void {
    this.#commits++;
    if (this.#isBusy || this.#isClosed || this.#commits < commitsMin) return;
    this.#commits = 0;
    this.#isBusy = true;
    this.#running = this.#checkpoint().finally(() => {
      setTimeout(() => {
        this.#isBusy = false;
      }, pauseMs).unref();
    });
  }

  /** Call it when a commit failed because the disk is full. */
  diskIsFull(): void {
    if (this.#isBusy || this.#isClosed) return;
    this.#isBusy = true;
    this.#running = this.#checkpoint("makeRoom").finally(() => {
      setTimeout(() => {
        this.#isBusy = false;
      }, roomPauseMs).unref();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    if (!this.#thread) return;
    await this.#send(this.#thread, "close");
    await endThread(this.#thread);
  }

  async #checkpoint(request: "checkpoint" | "makeRoom" = "checkpoint"): Promise<void> {
    try {
      this.#thread ??= await this.#start();
    } catch {
      // Too many open files, for example. Until a later attempt succeeds, the writer moves the pages (`open.ts`).
      return;
    }
    await this.#send(this.#thread, request);
  }

  async #start(): Promise<Worker> {
    const thread = await startThread(threadFile("checkpoint"), [this.#dataDirectory], { smol: true });
    thread.onerror = (event) => this.#onFatal(new Error(`The checkpoint thread failed: ${event.message}`));
    return thread;
  }

  #send(thread: Worker, request: CheckpointRequest): Promise<void> {
    return new Promise((resolve) => {
      thread.addEventListener(
        "message",
        ({ data }: MessageEvent<CheckpointAnswer>) => {
          // After any other failure, such as a full disk, the commits are still in the log, and the writer meets the
          // same failure.
          if (data) {
            const error = this.#errorOf(data.code, data.message);
            if (isFatal(data.code)) this.#onFatal(error);
          }
          resolve();
        },
        { once: true },
      );
      thread.postMessage(request);
    });
  }
}
