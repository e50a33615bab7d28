import { join } from "node:path";
import { startClickHouse } from "./clickhouse.ts";
import { clickHouseProxy } from "./clickhouse-proxy.ts";
import { makeTables } from "./engine.ts";
import { startPostgres } from "./postgres.ts";
import { postgresProxy } from "./postgres-proxy.ts";

/** The steps of shipping, by the statement that takes each: of PostgreSQL or of ClickHouse. */
const steps = {
  plan: /^\s*INSERT INTO shipped_ranges/,
  send: /^INSERT INTO events/,
  compare: /^SELECT count\(\) AS events, toString/,
  finish: /finish_range/,
  announce: /^UPDATE shipped_ranges SET cleared_at/,
  countBlock: /^SELECT count\(\) AS events FROM events WHERE block/,
  clear: /^DELETE FROM events WHERE arrival/,
  forget: /^UPDATE shipped_ranges SET gone_at/,
  restore: /^\s*INSERT INTO events \(created_at/,
};

export type Step = keyof typeof steps;
const shippingSteps = Object.keys(steps) as Step[];
export type Victim = "tidings" | "clickhouse" | "postgres";

/** The steps that are taken while the victim is killed: only a process that starts again sends old events. */
export const stepsOf = (victim: Victim) =>
  shippingSteps.filter((step) => step !== "restore" || victim === "tidings");

/** How long after a statement was sent its victim dies, at most: while it runs, or after its answer. */
const delayMs = 25;
/** How long a database stays away, at most. */
const awayMs = 1_500;

/**
 * A process that records and ships (`shipping-child.ts`), its own PostgreSQL, servers of ClickHouse, and proxies between
 * them that know which step is being taken.
 *
 * @param count - of servers of ClickHouse
 */
export async function shippingDrill(count = 1) {
  const postgres = await startPostgres({ durable: true });
  const { url: databaseUrl } = await postgres.database(makeTables);
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const clickHouse = await startClickHouse();
      const address = await clickHouse.database();
      return { clickHouse, address, proxy: clickHouseProxy(() => new URL(address).origin) };
    }),
  );
  const toPostgres = await postgresProxy(databaseUrl);
  let awaited: { step: Step; reached: () => void } | null = null;
  const observe = (statement: string) => {
    if (!awaited || !steps[awaited.step].test(statement)) return;
    awaited.reached();
    awaited = null;
  };
  toPostgres.onStatement = observe;
  for (const { proxy } of servers)
    proxy.answer = (statement) => {
      observe(statement);
      return undefined;
    };
  let acknowledged = 0;
  let projectId = 0;
  let child: ReturnType<typeof start> | null = null;

  function start(from: number, again?: number) {
    const started = Bun.spawn(
      [
        "bun",
        join(import.meta.dir, "shipping-child.ts"),
        toPostgres.url,
        servers.map(({ proxy, address }) => proxy.url(address)).join(","),
        `${projectId}`,
        `${from}`,
        ...(again === undefined ? [] : [`${again}`]),
      ],
      { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
    );
    void (async () => {
      let text = "";
      for await (const chunk of started.stdout) {
        text += new TextDecoder().decode(chunk);
        const lines = text.split("\n");
        text = lines.pop()!;
        const last = Number(lines.at(-1));
        if (last > acknowledged) acknowledged = last;
      }
    })();
    return started;
  }

  return {
    /** The addresses of the databases; those in ClickHouse as in the setting. */
    databaseUrl,
    clickhouseUrl: servers.map(({ address }) => address).join(","),
    begin(project: number): void {
      projectId = project;
      child = start(0);
    },
    /** How many events, from the first on, are acknowledged. */
    get acknowledged() {
      return acknowledged;
    },
    /**
     * Kills the victim at a step, and starts it again: Tidings at once, with events that are sent again, and a database a
     * while later. Returns false if the step wasn't taken in time.
     *
     * @param back - how many of the last events are sent again, after some of those twice as far back
     */
    async kill(victim: Victim, step: Step, back: number): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      awaited = { step, reached: () => resolve(true) };
      const patience = setTimeout(() => resolve(false), 20_000);
      const isReached = await promise;
      clearTimeout(patience);
      awaited = null;
      await Bun.sleep(Math.random() * delayMs);
      if (victim === "tidings") {
        await this.stop();
        const again = acknowledged - 2 * back;
        child = start(Math.max(0, acknowledged - back), again < 0 ? undefined : again);
      } else {
        const { clickHouse } = servers[Math.floor(Math.random() * servers.length)]!;
        await (victim === "clickhouse" ? clickHouse.kill() : postgres.stop("immediate"));
        await Bun.sleep(Math.random() * awayMs);
        await (victim === "clickhouse" ? clickHouse : postgres).start();
      }
      return isReached;
    },
    /** Ends recording. The databases go on. */
    async stop(): Promise<void> {
      child?.kill("SIGKILL");
      await child?.exited;
    },
    async remove(): Promise<void> {
      await this.stop();
      toPostgres[Symbol.dispose]();
      for (const { proxy, clickHouse } of servers) {
        proxy[Symbol.dispose]();
        await clickHouse.remove();
      }
      await postgres.remove();
    },
  };
}
