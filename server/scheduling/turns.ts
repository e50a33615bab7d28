/** How long one task may hold its thread before others get a turn. A new event may wait for several such turns. */
const turnMs = 3;

/** On whose behalf a task works: a project, someone who has not shown a key yet, or all. */
export type TurnOwner = number | "strangers" | "server";

type Resume = () => void;

/** The tasks that wait, by owner. The first owner's first task is next; then that owner goes to the end. */
const waiting = new Map<TurnOwner, Resume[]>();
let isScheduled = false;

/**
 * Splits long work into short turns. Between two turns, the thread does everything else, however many tasks are in
 * progress. Owners take turns, then each owner's tasks: a project with a hundred tasks gets no more of the thread than
 * one with a single task.
 *
 * Invariant: what a project does within its limits delays another's requests by a few turns. Work that grows with a
 * request names its project here or to `FairQueue`. Checked by
 * `server/events/project-stream.test.ts`.
 */
export class Turns {
  readonly #owner: TurnOwner;
  readonly #signal: AbortSignal | undefined;
  #endsAt: number;

  /** @param signal - ends the work: `next` throws its reason */
  constructor(owner: TurnOwner, signal?: AbortSignal) {
    this.#owner = owner;
    this.#signal = signal;
    // If the owner's other tasks wait, so does this one: many small beginnings would be a long turn.
    this.#endsAt = waiting.has(owner) ? 0 : performance.now() + turnMs;
  }

  get isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /** Counts work that the thread does after this turn on the task's behalf, such as sending what it wrote. */
  charge(ms: number): void {
    this.#endsAt -= ms;
  }

  /** Resolves at once if the turn isn't over, otherwise when others had theirs. */
  async next(): Promise<void> {
    if (!this.isOver) return;
    await nextTurn(this.#owner);
    this.#signal?.throwIfAborted();
    this.#endsAt = performance.now() + turnMs;
  }
}

/** Resolves after sockets and timers were handled. Of all waiting tasks, one continues each time. */
export function nextTurn(owner: TurnOwner): Promise<void> {
  return new Promise((resolve) => {
    const tasks = waiting.get(owner);
    if (tasks) tasks.push(resolve);
    else waiting.set(owner, [resolve]);
    schedule();
  });
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(resumeNext);
}

function resumeNext(): void {
  isScheduled = false;
  const [owner, tasks] = waiting.entries().next().value!;
  waiting.delete(owner);
  const resume = tasks.shift()!;
  if (tasks.length > 0) waiting.set(owner, tasks);
  resume();
  if (waiting.size > 0) schedule();
}
