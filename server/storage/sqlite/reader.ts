import { threadFile } from "../../process/program-files.ts";
import { FairQueue } from "../../scheduling/fair-queue.ts";
import type { TurnOwner } from "../../scheduling/turns.ts";
import type { Watch } from "../analysis/queries.ts";
import { TooLargeError } from "../analysis/too-large.ts";
import type { ErrorOf } from "./damage.ts";
import type { ReaderAnswer, ReaderMessage, ReaderRequest } from "./reader-thread.ts";
import { endThread, startThread } from "./threads.ts";

/** Requests that the thread has at a time: one is being answered, and the next one must not wait for a message. */
const requestsAtOnce = 2;

type Pending = Pick<Watch, "onProgress"> & {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
};

/** The HTTP thread's side of the reader. */
export class Reader {
  readonly #thread: Worker;
  readonly #pending = new Map<number, Pending>();
  /** The thread answers most requests in one turn, in the order of its messages. So projects take turns before it. */
  readonly #turns = new FairQueue({ capacity: requestsAtOnce });
  #lastId = 0;

  private constructor(thread: Worker, errorOf: ErrorOf) {
    this.#thread = thread;
    thread.onmessage = ({ data }: MessageEvent<ReaderAnswer>) => {
      const pending = this.#pending.get(data.id);
      if ("progress" in data) {
        pending?.onProgress?.(data.progress);
        return;
      }
      this.#pending.delete(data.id);
      if ("result" in data) pending?.resolve(data.result);
      else if ("tooMany" in data) pending?.reject(new TooLargeError(data.tooMany));
      else pending?.reject(errorOf(data.code, data.message));
    };
  }

  static async start(
    dataDirectory: string,
    blockEvents: number,
    errorOf: ErrorOf,
    onFatal: (error: Error) => void,
  ): Promise<Reader> {
    const argv = [dataDirectory, String(blockEvents)];
    const thread = await startThread(threadFile("reader"), argv);
    thread.onerror = (event) => onFatal(new Error(`The reader thread failed: ${event.message}`));
    return new Reader(thread, errorOf);
  }

  /** Sends a request that takes one turn. `reader-thread.ts` defines the result of each kind. */
  request<Result>(request: ReaderRequest): Promise<Result> {
    const owner = ownerOf(request);
    // Background requests, such as a check, never wait for those of people.
    if (owner === "server") return this.#send(request);
    return this.#turns.run(owner, () => this.#send<Result>(request));
  }

  #send<Result>(request: ReaderRequest): Promise<Result> {
    const id = ++this.#lastId;
    return new Promise<Result>((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as Pending["resolve"], reject });
      this.#post({ id, request });
    });
  }

  /** Like `request`, for what takes long. An aborted signal ends it in the thread. */
  async cancellable<Result>(request: ReaderRequest, { signal, onProgress }: Watch): Promise<Result> {
    signal?.throwIfAborted();
    const id = ++this.#lastId;
    const cancel = () => this.#post({ id, cancelled: true });
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await new Promise<Result>((resolve, reject) => {
        this.#pending.set(id, {
          resolve: resolve as Pending["resolve"],
          reject,
          ...(onProgress && { onProgress }),
        });
        this.#post({ id, request });
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  #post(message: ReaderMessage): void {
    this.#thread.postMessage(message);
  }

  async close(): Promise<void> {
    await this.request({ kind: "close" });
    await endThread(this.#thread);
  }
}

function ownerOf(request: ReaderRequest): TurnOwner {
  if ("projectId" in request) return request.projectId;
  return "query" in request ? request.query.projectId : "server";
}
