import { patienceMs } from "./engine.ts";

/** What a test server has received, in order. A test can wait for the next item. */
export class Arrivals<T> {
  readonly all: T[] = [];
  readonly #waiting: ((arrival: T) => void)[] = [];
  #taken = 0;

  add(arrival: T): void {
    this.all.push(arrival);
    this.#handOut();
  }

  /** Resolves to the earliest item not taken yet; rejects if none arrives within `timeoutMs`. */
  next(timeoutMs = patienceMs): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(take), 1);
      reject(new Error(`Nothing arrived within ${timeoutMs} ms.`));
    }, timeoutMs);
    const take = (arrival: T) => {
      clearTimeout(timer);
      resolve(arrival);
    };
    this.#waiting.push(take);
    this.#handOut();
    return promise;
  }

  #handOut(): void {
    while (this.#taken < this.all.length && this.#waiting.length > 0) {
      this.#waiting.shift()!(this.all[this.#taken++]!);
    }
  }
}
