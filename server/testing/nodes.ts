import type { Config } from "../config.ts";
import { environmentOf } from "./engine.ts";
import { type Ended, startServer } from "./server-process.ts";
import { prepare } from "./test-app.ts";

/** A server process that may be killed and started again, beside others on the same database. */
export type Node = Awaited<ReturnType<typeof startNode>>;

/**
 * Starts several servers on a place.
 *
 * @param key - the key of a place that was filled before; an empty one is filled first, as `testApp` does
 */
export async function startNodes(config: Config, count: number, key?: string): Promise<Node[]> {
  const secret = key ?? (await prepare(config)).secret;
  const environment = { ...environmentOf(config), TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true" };
  return Promise.all(Array.from({ length: count }, () => startNode(environment, secret)));
}

async function startNode(environment: Record<string, string>, key: string) {
  let server = await startServer(environment);
  return {
    key,
    get address(): string {
      return server.address;
    },
    /** Rejects while it is down. */
    request(path: string, init: RequestInit = {}): Promise<Response> {
      const headers = new Headers(init.headers);
      if (!headers.has("cookie")) headers.set("x-api-key", key);
      return fetch(server.address + path, { ...init, headers });
    },
    end: (signal: "SIGTERM" | "SIGKILL"): Promise<Ended> => server.end(signal),
    /** Starts it again, at another address. */
    async start(): Promise<void> {
      server = await startServer(environment);
    },
  };
}

/** A node that says nothing for so long does not answer. */
const patienceMs = 10_000;

/** Looks all the time whether nodes say that they are ready, until each has said that it is not, and then that it is. */
export function watchReadiness(nodes: readonly Node[]) {
  let isOver = false;
  async function watch(node: Node): Promise<void> {
    for (let wasAway = false; !isOver; await Bun.sleep(50)) {
      const signal = AbortSignal.timeout(patienceMs);
      const { status } = await node.request("/readyz", { signal });
      if (status !== 200 && status !== 503) throw new Error(`/readyz answered ${status}.`);
      if (status === 200 && wasAway) return;
      wasAway ||= status === 503;
    }
  }
  const watching = Promise.all(nodes.map(watch));
  watching.catch(() => {});
  return {
    /** Resolves when all are; throws where that takes longer than so many milliseconds. */
    async isBack(withinMs: number): Promise<void> {
      const timer = setTimeout(() => {
        isOver = true;
      }, withinMs);
      await watching;
      clearTimeout(timer);
      if (isOver) throw new Error(`The nodes were not seen to be away and ready again in ${withinMs} ms.`);
    },
  };
}
