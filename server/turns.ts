/** How long one task may hold its thread before others get a turn. A new event may wait for several such turns. */
const turnMs = 3;

const waiting: (() => void)[] = [];

/**
 * Splits long work into short turns. Between two turns, the thread does everything else, however many tasks are in
 * progress.
 */
export class Turns {
  readonly #signal: AbortSignal | undefined;
  #endsAt = performance.now() + turnMs;

  /** @param signal - ends the work: `next` throws its reason */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  get isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /** Resolves at once if the turn isn't over, otherwise when others had theirs. */
  async next(): Promise<void> {
    if (!this.isOver) return;
    await nextTurn();
    this.#signal?.throwIfAborted();
    this.#endsAt = performance.now() + turnMs;
  }
}

/** Resolves after sockets and timers were handled. Of all waiting tasks, one continues each time. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(resumeNext);
  });
}

function resumeNext(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(resumeNext);
}
