/** How long a query may hold the reader until others that wait have their turn. */
const turnMs = 10;

/** Cuts a long piece of work into turns, so that pages slip between. */
export class Turns {
  #endsAt = performance.now() + turnMs;

  /** Resolves at once, or after those who wait where the turn is over. */
  async next(): Promise<void> {
    if (performance.now() < this.#endsAt) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#endsAt = performance.now() + turnMs;
  }
}
