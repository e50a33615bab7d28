import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { clientRange } from "../http/client-address.ts";

/** How passwords are hashed. Tests replace it to save time. */
export type PasswordHashing = {
  hash: (password: string) => Promise<string>;
  verify: (stored: { hash: string; password: string }) => Promise<boolean>;
};

/** scrypt with better-auth's parameters: a tenth of a second of one core and 32 MB for each password. */
export const scrypt: PasswordHashing = {
  async hash(password) {
    const { hashPassword } = await import("better-auth/crypto");
    return hashPassword(password);
  },
  async verify(stored) {
    const { verifyPassword } = await import("better-auth/crypto");
    return verifyPassword(stored);
  },
};

/** On whose behalf a password is hashed. */
export type Requester = {
  /** The client's address; null if it is unknown. */
  address: string | null;
  /**
   * Whether this is a session, or a browser in which the account was signed in before. Their attempts are limited by
   * account, so they can't flood the queue.
   */
  isKnown: boolean;
};

/** Password hashing in turns. Both throw `overloaded` if too many wait. */
export type PasswordQueue = {
  hash: (password: string, from: Requester) => Promise<string>;
  verify: (stored: { hash: string; password: string }, from: Requester) => Promise<boolean>;
};

/** Work of one network that waits, the oldest first. */
type Lane = Job[];
type Job = { run: () => Promise<void>; reject: (error: unknown) => void };

/**
 * Hashes one password at a time, so that people who sign in don't take the processor from events. Networks take turns,
 * so a flood from one network delays only that network. Known clients and strangers take turns, too, so a flood from
 * many networks does not keep people out of their own browsers.
 *
 * When the queue is full, the network with the longest queue loses its newest work to those that have less.
 */
export function inTurns({ hash, verify }: PasswordHashing): PasswordQueue {
  /** By network. The first lane is the next one in turn. */
  const known = new Map<string, Lane>();
  const strangers = new Map<string, Lane>();
  let waiting = 0;
  let isRunning = false;
  let wasKnown = false;

  function run<Result>(work: () => Promise<Result>, { address, isKnown }: Requester): Promise<Result> {
    const lanes = isKnown ? known : strangers;
    const network = clientRange(address);
    const lane = lanes.get(network) ?? [];
    // Known clients displace any stranger.
    const spared = isKnown ? 0 : lane.length + 1;
    if (waiting >= limits.passwordsWaiting && !makeRoom(spared)) return Promise.reject(overloaded());
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    lane.push({ run: () => work().then(resolve, reject), reject });
    lanes.set(network, lane);
    waiting++;
    if (!isRunning) void runAll();
    return promise;
  }

  async function runAll(): Promise<void> {
    isRunning = true;
    for (let job = next(); job !== null; job = next()) await job.run();
    isRunning = false;
  }

  /** Takes the next work. Its network goes to the end of the turn. */
  function next(): Job | null {
    const lanes = known.size > 0 && (!wasKnown || strangers.size === 0) ? known : strangers;
    const turn = lanes.entries().next().value;
    if (!turn) return null;
    wasKnown = lanes === known;
    const [network, lane] = turn;
    const job = lane.shift()!;
    lanes.delete(network);
    if (lane.length > 0) lanes.set(network, lane);
    waiting--;
    return job;
  }

  /** Rejects the newest work of the strangers' longest lane, if that is longer than `spared`. */
  function makeRoom(spared: number): boolean {
    let longest: [network: string, lane: Lane] = ["", []];
    for (const entry of strangers) if (entry[1].length > longest[1].length) longest = entry;
    const [network, lane] = longest;
    if (lane.length <= spared) return false;
    lane.pop()!.reject(overloaded());
    if (lane.length === 0) strangers.delete(network);
    waiting--;
    return true;
  }

  return {
    hash: (password, from) => run(() => hash(password), from),
    verify: (stored, from) => run(() => verify(stored), from),
  };
}

function overloaded() {
  return problem("overloaded", {
    detail: "Too many people are signing in at this moment. Try again in a few seconds.",
    retryAfterSeconds: 5,
  });
}
