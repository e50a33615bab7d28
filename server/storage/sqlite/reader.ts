import { threadFile } from "../../program-files.ts";
import type { ErrorOf } from "./damage.ts";
import type { ReaderAnswer, ReaderRequest } from "./reader-thread.ts";
import { endThread, startThread } from "./threads.ts";

type Pending = { resolve: (result: unknown) => void; reject: (error: Error) => void };

/** The HTTP thread's side of the reader. */
export class Reader {
  readonly #thread: Worker;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;

  private constructor(thread: Worker, errorOf: ErrorOf) {
    this.#thread = thread;
    thread.onmessage = ({ data }: MessageEvent<ReaderAnswer>) => {
      const pending = this.#pending.get(data.id);
      this.#pending.delete(data.id);
      if ("result" in data) pending?.resolve(data.result);
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

  /** Sends a request to the thread. `reader-thread.ts` defines the result of each kind. */
  request<Result>(request: ReaderRequest): Promise<Result> {
    const id = ++this.#lastId;
    return new Promise<Result>((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as Pending["resolve"], reject });
      this.#thread.postMessage({ id, request });
    });
  }

  async close(): Promise<void> {
    await this.request({ kind: "close" });
    await endThread(this.#thread);
  }
}
