import { threadFile } from "../../program-files.ts";
import type { CheckpointAnswer, CheckpointRequest } from "./checkpoint-thread.ts";
import type { ErrorOf } from "./damage.ts";
import { isFatal } from "./failure.ts";
import { endThread, startThread } from "./threads.ts";

/** Commits before a checkpoint, which write some 20 pages each, and the pause after it. */
const commitsMin = 100;
const pauseMs = 250;

/** The HTTP thread's side of the checkpointer. */
export class Checkpoints {
  readonly #thread: Worker;
  readonly #errorOf: ErrorOf;
  readonly #onFatal: (error: Error) => void;
  #commits = 0;
  /** A checkpoint is running, or the pause after it. */
  #isBusy = false;

  private constructor(thread: Worker, errorOf: ErrorOf, onFatal: (error: Error) => void) {
    this.#thread = thread;
    this.#errorOf = errorOf;
    this.#onFatal = onFatal;
  }

  /** @param onFatal - called when the disk can't be trusted */
  static async start(
    dataDirectory: string,
    errorOf: ErrorOf,
    onFatal: (error: Error) => void,
  ): Promise<Checkpoints> {
    const file = threadFile("checkpoint");
    const thread = await startThread(file, [dataDirectory], { smol: true });
    thread.onerror = (event) => onFatal(new Error(`The checkpoint thread failed: ${event.message}`));
    return new Checkpoints(thread, errorOf, onFatal);
  }

  /** Call it after each commit. */
  committed(): void {
    this.#commits++;
    if (this.#isBusy || this.#commits < commitsMin) return;
    this.#commits = 0;
    this.#isBusy = true;
    void this.#send("checkpoint").then(() => {
      setTimeout(() => {
        this.#isBusy = false;
      }, pauseMs).unref();
    });
  }

  async close(): Promise<void> {
    await this.#send("close");
    await endThread(this.#thread);
  }

  #send(request: CheckpointRequest): Promise<void> {
    return new Promise((resolve) => {
      this.#thread.addEventListener(
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
      this.#thread.postMessage(request);
    });
  }
}
