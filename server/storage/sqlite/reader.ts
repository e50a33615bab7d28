import type { ErrorOf } from "./damage.ts";
import { endThread } from "./end-thread.ts";

import type { ReaderAnswer, ReaderRequest } from "./reader-thread.ts";

type Asked = { resolve: (result: unknown) => void; reject: (error: Error) => void };

/** The HTTP thread's end of a reader. */
export class Reader {
  readonly #thread: Worker;
  readonly #asked = new Map<number, Asked>();
  #lastId = 0;

  private constructor(thread: Worker, errorOf: ErrorOf) {
    this.#thread = thread;
    thread.onmessage = ({ data }: MessageEvent<ReaderAnswer>) => {
      const asked = this.#asked.get(data.id);
      this.#asked.delete(data.id);
      if ("result" in data) asked?.resolve(data.result);
      else asked?.reject(errorOf(data.code, data.message));
    };
  }

  static async start(
    dataDirectory: string,
    blockEvents: number,
    errorOf: ErrorOf,
    onFatal: (error: Error) => void,
  ): Promise<Reader> {
    const thread = new Worker(new URL("./reader-thread.ts", import.meta.url).href, {
      argv: [dataDirectory, String(blockEvents)],
    });
    await new Promise<void>((resolve, reject) => {
      thread.onerror = (event) => reject(new Error(event.message));
      thread.onmessage = () => resolve();
    });
    thread.onerror = (event) => onFatal(new Error(`The reader thread failed: ${event.message}`));
    return new Reader(thread, errorOf);
  }

  /** What the thread answers to a request; its type is the request's in `reader-thread.ts`. */
  ask<Result>(request: ReaderRequest): Promise<Result> {
    const id = ++this.#lastId;
    return new Promise<Result>((resolve, reject) => {
      this.#asked.set(id, { resolve: resolve as Asked["resolve"], reject });
      this.#thread.postMessage({ id, request });
    });
  }

  async close(): Promise<void> {
    await this.ask({ kind: "close" });
    await endThread(this.#thread);
  }
}
