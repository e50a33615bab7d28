import { expect, test } from "bun:test";
import { withDeadline } from "../scheduling/deadline.ts";
import { fairReads } from "./fair-reads.ts";

test("each read that takes a signal ends with the request that asked for it, and with the caller's own", async () => {
  const seen: AbortSignal[] = [];
  const read = async (...given: unknown[]) => {
    const last = given.at(-1) as AbortSignal | { signal?: AbortSignal } | undefined;
    const signal = last instanceof AbortSignal ? last : last?.signal;
    if (signal) seen.push(signal);
  };
  const names = ["page", "count", "users", "usersMatching", "measure", "funnel", "retention"] as const;
  const reads = fairReads(
    Object.fromEntries(names.map((name) => [name, read])) as never,
  ) as unknown as Record<string, (...given: unknown[]) => Promise<void>>;
  const query = { projectId: 1 };
  for (const name of names) {
    seen.length = 0;
    const [client, own] = [new AbortController(), new AbortController()];
    const isWatched = ["measure", "funnel", "retention"].includes(name);
    const call = (signal?: AbortSignal) =>
      isWatched
        ? reads[name]!(query, { signal })
        : name === "count"
          ? reads[name]!(query, signal)
          : reads[name]!(query, 10, signal);
    await withDeadline(client.signal, async () => {
      await call();
      await call(own.signal);
    });
    own.abort();
    expect([name, ...seen.map(({ aborted }) => aborted)]).toEqual([name, false, true]);
    client.abort();
    expect([name, ...seen.map(({ aborted }) => aborted)]).toEqual([name, true, true]);
  }
});
