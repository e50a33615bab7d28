import { limits } from "./limits.ts";
import { problem } from "./problems.ts";

type Waiting = { bytes: number; enter: () => void };

/**
 * Room for large bodies. One takes several times its size in memory until it is answered, so only some are there at once. The others wait
 * in line, unread: what their clients send waits on the network.
 */
export class LargeBodies {
  #bytes = 0;
  readonly #waiting: Waiting[] = [];

  /** Resolves once there is room for so many bytes. Throws `overloaded` where that takes too long. */
  async enter(bytes: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { bytes, enter: resolve };
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

  leave(bytes: number): void {
    this.#bytes -= bytes;
    this.#letIn();
  }

  #letIn(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (this.#bytes + next.bytes > limits.largeBodiesBytes) return;
      this.#waiting.shift();
      this.#bytes += next.bytes;
      next.enter();
    }
  }
}

/** The place of one request's body; it must be left in the end. */
export class BodyPlace {
  readonly #room: LargeBodies;
  readonly #onLarge: () => void;
  #bytes = 0;

  /** @param onLarge - told before it waits */
  constructor(room: LargeBodies, onLarge: () => void) {
    this.#room = room;
    this.#onLarge = onLarge;
  }

  /** Waits for its place, the first time that it is large. Throws `overloaded`. */
  async enter(bytes: number): Promise<void> {
    if (bytes <= limits.requestBytes || this.#bytes > 0) return;
    this.#onLarge();
    await this.#room.enter(bytes);
    this.#bytes = bytes;
  }

  leave(): void {
    if (this.#bytes > 0) this.#room.leave(this.#bytes);
    this.#bytes = 0;
  }
}

function overloaded() {
  return problem("overloaded", {
    detail: "Too many large bodies come at once. Send it again in some seconds, or in smaller parts.",
    retryAfterSeconds: 5,
  });
}
