import { limits } from "../limits.ts";
import { problem } from "../problems.ts";

type Waiter = { projectId: number; bytes: number; admit: () => void };

/**
 * Limits the memory for large bodies. A body takes several times its size until it is answered, so only a few are
 * processed at once, and each project has a share of its own. The others wait in order, unread: what their clients send
 * stays in the network.
 */
export class BodySemaphore {
  #bytes = 0;
  readonly #bytesOf = new Map<number, number>();
  readonly #waiters: Waiter[] = [];

  /** Waits until there is room for this many bytes. Throws `overloaded` on timeout. */
  async acquire(projectId: number, bytes: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { projectId, bytes, admit: resolve };
    this.#waiters.push(waiter);
    this.#admit();
    const timer = setTimeout(() => {
      const index = this.#waiters.indexOf(waiter);
      if (index < 0) return;
      this.#waiters.splice(index, 1);
      this.#admit();
      reject(overloaded());
    }, limits.largeBodyWaitSeconds * 1_000);
    await promise.finally(() => clearTimeout(timer));
  }

  release(projectId: number, bytes: number): void {
    this.#reserve(projectId, -bytes);
    this.#admit();
  }

  /** In order of arrival. Only bodies whose project has used up its share are skipped. */
  #admit(): void {
    for (let at = 0; at < this.#waiters.length; ) {
      const { projectId, bytes, admit } = this.#waiters[at]!;
      if (this.#heldBy(projectId) + bytes > limits.largeBodiesOfProjectBytes) {
        at++;
        continue;
      }
      if (this.#bytes + bytes > limits.largeBodiesBytes) return;
      this.#waiters.splice(at, 1);
      this.#reserve(projectId, bytes);
      admit();
    }
  }

  #heldBy(projectId: number): number {
    return this.#bytesOf.get(projectId) ?? 0;
  }

  #reserve(projectId: number, bytes: number): void {
    this.#bytes += bytes;
    const held = this.#heldBy(projectId) + bytes;
    if (held === 0) this.#bytesOf.delete(projectId);
    else this.#bytesOf.set(projectId, held);
  }
}

/** The permit for one request's body. It must be released. */
export class BodyPermit {
  readonly #semaphore: BodySemaphore;
  readonly #projectId: number;
  #bytes = 0;

  constructor(semaphore: BodySemaphore, projectId: number) {
    this.#semaphore = semaphore;
    this.#projectId = projectId;
  }

  /** Waits for a permit if the body is large and has none yet. Throws `overloaded`. */
  async acquire(bytes: number): Promise<void> {
    if (bytes <= limits.requestBytes || this.#bytes > 0) return;
    await this.#semaphore.acquire(this.#projectId, bytes);
    this.#bytes = bytes;
  }

  release(): void {
    if (this.#bytes > 0) this.#semaphore.release(this.#projectId, this.#bytes);
    this.#bytes = 0;
  }
}

function overloaded() {
  return problem("overloaded", {
    detail:
      "Too many large bodies are being sent at once. Try again in a few seconds, or send smaller parts.",
    retryAfterSeconds: 5,
  });
}
