import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";

/** Whose memory a body takes: a project's, or what all share whose key is not known yet. */
type Owner = number | "strangers";
type Waiter = { owner: Owner; bytes: number; admit: () => void };

/**
 * Limits the memory for large bodies. A body takes several times its size until it is answered, so only a few are
 * processed at once, and each project has a share of its own. So do all together who have not shown a key: they can't
 * take the room of those with one. The others wait in order, unread: what their clients send stays in the network.
 *
 * Invariant: the memory of bodies in progress is bounded. Bun has no limit of its own. Checked by
 * `server/http/body-semaphore.test.ts`.
 */
export class BodySemaphore {
  #bytes = 0;
  readonly #bytesOf = new Map<Owner, number>();
  readonly #waiters: Waiter[] = [];

  /** Waits until there is room for this many bytes. Throws `overloaded` on timeout. */
  async acquire(owner: Owner, bytes: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { owner, bytes, admit: resolve };
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

  release(owner: Owner, bytes: number): void {
    this.#reserve(owner, -bytes);
    this.#admit();
  }

  /** In order of arrival. Only bodies whose owner has used up its share are skipped. */
  #admit(): void {
    for (let at = 0; at < this.#waiters.length; ) {
      const { owner, bytes, admit } = this.#waiters[at]!;
      if (this.#heldBy(owner) + bytes > shareOf(owner)) {
        at++;
        continue;
      }
      if (this.#bytes + bytes > limits.largeBodiesBytes) return;
      this.#waiters.splice(at, 1);
      this.#reserve(owner, bytes);
      admit();
    }
  }

  #heldBy(owner: Owner): number {
    return this.#bytesOf.get(owner) ?? 0;
  }

  #reserve(owner: Owner, bytes: number): void {
    this.#bytes += bytes;
    const held = this.#heldBy(owner) + bytes;
    if (held === 0) this.#bytesOf.delete(owner);
    else this.#bytesOf.set(owner, held);
  }
}

function shareOf(owner: Owner): number {
  return owner === "strangers" ? limits.largeBodiesOfStrangersBytes : limits.largeBodiesOfProjectBytes;
}

/** The permit for one request's body. It must be released. */
export class BodyPermit {
  readonly #semaphore: BodySemaphore;
  /** May change until the permit is acquired. */
  owner: Owner;
  #bytes = 0;

  constructor(semaphore: BodySemaphore, owner: Owner) {
    this.#semaphore = semaphore;
    this.owner = owner;
  }

  /** Waits for a permit if the body is large and has none yet. Throws `overloaded`. */
  async acquire(bytes: number): Promise<void> {
    if (bytes <= limits.requestBytes || this.#bytes > 0) return;
    await this.#semaphore.acquire(this.owner, bytes);
    this.#bytes = bytes;
  }

  release(): void {
    if (this.#bytes > 0) this.#semaphore.release(this.owner, this.#bytes);
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
