import type { Config } from "../config/config.ts";
import { environmentOf, patienceMs } from "./engine.ts";
import { type Ended, startServer } from "./server-process.ts";
import { prepare } from "./test-app.ts";

/** A server process that can be killed and restarted, one of several on the same database. */
export type Node = Awaited<ReturnType<typeof startNode>>;

/**
 * Starts several servers on the same storage.
 *
 * @param key - the key of prepared storage; without it, the storage is prepared as by `testApp`
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
    /** Rejects while the node is down. */
    request(path: string, init: RequestInit = {}): Promise<Response> {
      const headers = new Headers(init.headers);
      if (!headers.has("cookie")) headers.set("x-api-key", key);
      return fetch(server.address + path, { ...init, headers });
    },
    end: (signal: "SIGTERM" | "SIGKILL"): Promise<Ended> => server.end(signal),
    /** Restarts it at another address. */
    async start(): Promise<void> {
      server = await startServer(environment);
    },
  };
}

/** Polls the readiness of nodes until each has been unready and then ready again. */
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
    /** Resolves when all nodes are ready again; throws if that takes longer than `withinMs`. */
    async isBack(withinMs: number): Promise<void> {
      const timer = setTimeout(() => {
        isOver = true;
      }, withinMs);
      await watching;
      clearTimeout(timer);
      if (isOver) throw new Error(`The nodes were not unready and then ready again within ${withinMs} ms.`);
    },
  };
}
