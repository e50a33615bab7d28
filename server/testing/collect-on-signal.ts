/** Preloaded into the servers of tests: SIGUSR2 collects garbage, so that only what is held counts as memory. */
import { isMainThread } from "node:worker_threads";

if (isMainThread) process.on("SIGUSR2", () => Bun.gc(true));
