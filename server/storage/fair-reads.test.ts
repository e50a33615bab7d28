import { expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
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

test("a read with a signal of its own ends with its request as well", async () => {
  const client = new AbortController();
  let signal: AbortSignal | undefined;
  const page = async (...given: unknown[]) => {
    signal = given[2] as AbortSignal;
  };
  const reads = fairReads({ page } as never);
  await withDeadline(client.signal, () =>
    reads.page({ projectId: 1 } as never, 10, new AbortController().signal),
  );
  expect(signal!.aborted).toBe(false);
  client.abort();
  expect(signal!.aborted).toBe(true);
});

test("each read has the arguments and the result of the store's", async () => {
  const query = { projectId: 1 };
  const calls = {
    ...{ page: [query, 10], startingWith: [1, "name", "pay", 10], count: [query], countNewer: [query] },
    ...{ lateEvents: [query], arrivedLater: [query], users: [query, 10], usersMatching: [query, 10] },
    ...{
      measure: [query, {}],
      funnel: [query, {}],
      retention: [query, {}],
      countedUsers: [query, {}],
      sessions: [query, {}],
      usersWith: [query, {}],
    },
  };
  const store = Object.fromEntries(
    Object.keys(calls).map((name) => [name, async (...given: unknown[]) => ({ name, given })]),
  );
  const reads = fairReads(store as never) as unknown as Record<string, (...given: unknown[]) => unknown>;
  for (const [name, given] of Object.entries(calls)) {
    const result = (await reads[name]!(...given)) as { name: string; given: unknown[] };
    expect(result.name).toBe(name);
    expect(result.given.slice(0, given.length)).toEqual(given);
  }
});

test("a stream is read in chunks to its end, and closed when its reader stops", async () => {
  let isClosed = false;
  async function* stream() {
    try {
      yield* ["first", "second"];
    } finally {
      isClosed = true;
    }
  }
  const reads = fairReads({ stream } as never);
  const chunks = reads.stream({ projectId: 1 } as never) as AsyncIterable<unknown>;
  expect(await Array.fromAsync(chunks)).toEqual(["first", "second"]);
  isClosed = false;
  for await (const chunk of reads.stream({ projectId: 1 } as never)) {
    expect(chunk as unknown).toBe("first");
    break;
  }
  expect(isClosed).toBe(true);
});

test.each([
  ["page", limits.searchesOfProject],
  ["count", limits.countsOfProject],
] as const)("%s: a project has its share, and four projects take all", async (name, ofProject) => {
  let running = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const read = () => {
    running++;
    return promise;
  };
  const reads = fairReads({ [name]: read } as never) as unknown as Record<string, (query: object) => unknown>;
  const started: unknown[] = [];
  for (const [projectId, expected] of [1, 2, 3, 4, 4].entries()) {
    for (let call = 0; call <= ofProject; call++) started.push(reads[name]!({ projectId }));
    await new Promise(setImmediate);
    expect(running).toBe(expected * ofProject);
  }
  resolve();
  await Promise.all(started);
  expect(running).toBe(5 * (ofProject + 1));
});
