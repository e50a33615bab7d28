/** Results that are of use only if they come within a time. */
export class TimeLimit {
  readonly #signal: AbortSignal;
  readonly #over: Promise<void>;

  constructor(ms: number) {
    this.#signal = AbortSignal.timeout(ms);
    this.#over = new Promise((resolve) => this.#signal.addEventListener("abort", () => resolve()));
  }

  /** The result, or what stands for it if it comes too late. */
  async orElse<Result>(late: Result, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    if (this.#signal.aborted) return late;
    const result = work(this.#signal).catch((error) => {
      if (this.#signal.aborted) return late;
      throw error;
    });
    return Promise.race([result, this.#over.then(() => late)]);
  }
}
