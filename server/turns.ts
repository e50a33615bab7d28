/** How long a piece of work may hold its thread until all else has its turn. An event that comes meanwhile waits for several of them. */
const turnMs = 3;

const waiting: (() => void)[] = [];

/** Cuts long work into short turns, so that whatever else the thread has to do is done in between, however much such work there is. */
export class Turns {
  #endsAt = performance.now() + turnMs;

  get isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /** Resolves at once, or where the turn is over, after others had theirs. */
  async next(): Promise<void> {
    if (!this.isOver) return;
    await nextTurn();
    this.#endsAt = performance.now() + turnMs;
  }
}

/** Resolves after sockets and timers were looked after. Of all that wait here, one goes on each time. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(letNextGoOn);
  });
}

function letNextGoOn(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(letNextGoOn);
}
