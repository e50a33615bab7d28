import { limits } from "../limits.ts";
import { problem } from "../problems.ts";

type Waiting = { projectId: number; bytes: number; enter: () => void };

/**
 * Room for large bodies. One takes several times its size in memory until it is answered, so only some are there at once, and of a
 * project not so many that others have no room. The rest waits in line, unread: what their clients send waits on the network.
 */
export class BodySemaphore {
  #bytes = 0;
  readonly #bytesOf = new Map<number, number>();
  readonly #waiting: Waiting[] = [];

  /** Resolves once there is room for so many bytes. Throws `overloaded` where that takes too long. */
  async enter(projectId: number, bytes: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { projectId, bytes, enter: resolve };
    this.#waiting.push(waiting);
    this.#letIn();
    const timer = setTimeout(() => {
      const place = this.#waiting.indexOf(waiting);
      if (place < 0) return;
      this.#waiting.splice(place, 1);
      this.#letIn();
      reject(overloaded());
    }, limits.largeBodyWaitSeconds * 1_000);
    await promise.finally(() => clearTimeout(timer));
  }

  leave(projectId: number, bytes: number): void {
    this.#add(projectId, -bytes);
    this.#letIn();
  }

  /** In the order in which they came; only those whose project has its share already are passed by. */
  #letIn(): void {
    for (let at = 0; at < this.#waiting.length; ) {
      const { projectId, bytes, enter } = this.#waiting[at]!;
      if (this.#heldBy(projectId) + bytes > limits.largeBodiesOfProjectBytes) {
        at++;
        continue;
      }
      if (this.#bytes + bytes > limits.largeBodiesBytes) return;
      this.#waiting.splice(at, 1);
      this.#add(projectId, bytes);
      enter();
    }
  }

  #heldBy(projectId: number): number {
    return this.#bytesOf.get(projectId) ?? 0;
  }

  #add(projectId: number, bytes: number): void {
    this.#bytes += bytes;
    const held = this.#heldBy(projectId) + bytes;
    if (held === 0) this.#bytesOf.delete(projectId);
    else this.#bytesOf.set(projectId, held);
  }
}

/** The place of one request's body; it must be left in the end. */
export class BodyPermit {
  readonly #room: BodySemaphore;
  readonly #projectId: number;
  #bytes = 0;

  constructor(room: BodySemaphore, projectId: number) {
    this.#room = room;
    this.#projectId = projectId;
  }

  /** Waits for its place, the first time that it is large. Throws `overloaded`. */
  async enter(bytes: number): Promise<void> {
    if (bytes <= limits.requestBytes || this.#bytes > 0) return;
    await this.#room.enter(this.#projectId, bytes);
    this.#bytes = bytes;
  }

  leave(): void {
    if (this.#bytes > 0) this.#room.leave(this.#projectId, this.#bytes);
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
