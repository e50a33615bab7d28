/**
 * The follower: a thread that captures what is committed from the write-ahead log, for continuous backups. Its
 * connections only read, and move pages.
 */
import { lowerPriority } from "./threads.ts";
import { type FollowStatus, WalFollower } from "./wal-follower.ts";

declare const self: Worker & { onmessage: (message: MessageEvent<FollowRequest>) => void };

/** The thread's argument, as JSON. */
export type FollowTask = { dataDirectory: string; target: string };

export type FollowRequest =
  | { kind: "begin" | "capture" | "cut" | "restartLog" | "close" }
  | { kind: "shipped"; name: string }
  | { kind: "interrupt"; why: string };

/** Captured after what the writer stores, a little later than it. */
const niceness = 5;

const { dataDirectory, target }: FollowTask = JSON.parse(process.argv.at(-1)!);
lowerPriority(niceness);
const follower = new WalFollower(dataDirectory, target);

function answer(request: FollowRequest): void {
  if (request.kind === "shipped") follower.shipped(request.name);
  else if (request.kind === "interrupt") follower.interrupt(request.why);
  else follower[request.kind]();
}

/** A failure ends the generation, so that the log isn't kept for nothing. Recording goes on. */
function interrupting(work: () => void): void {
  try {
    work();
  } catch (error) {
    follower.interrupt((error as Error).message);
  }
}

self.onmessage = ({ data: request }) => {
  interrupting(() => answer(request));
  self.postMessage(follower.status);
};
interrupting(() => follower.resume());
self.postMessage(follower.status satisfies FollowStatus);
