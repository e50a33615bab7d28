// @engines postgres
// @long
/**
 * Two nodes on one database, under load, while the database, a node or the pooler goes down: no acknowledged event is
 * lost or duplicated.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startForwarder } from "../../testing/address.ts";
import { expectConsistent } from "../../testing/consistency.ts";
import { effort, makeTables } from "../../testing/engine.ts";
import { expectToldEvents, startLoad } from "../../testing/mixed-load.ts";
import { type Node, startNodes, watchReadiness } from "../../testing/nodes.ts";
import { hasPgbouncer, startPgbouncer } from "../../testing/pgbouncer.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";
import { startStandby } from "../../testing/postgres-standby.ts";
import { watchStream } from "../../testing/stream-watch.ts";
import { testConfig } from "../../testing/test-app.ts";

const rounds = effort(1, 6);
const clients = { id: 12, anonymous: 4, batch: 2, idempotent: 6 };
/** A caller hears of it within this time, which is less than a request may take. */
const answerMs = 9_500;
/** How long a node can take to be ready once the database is back. */
const recoveryMs = 6_000;

describe("two nodes under load, with live streams on both", () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres({ durable: true });
  });
  afterAll(() => postgres?.remove());

  test(
    `one is killed and started again, ${rounds} times`,
    async () =>
      survive((await postgres.database(makeTables)).url, async ({ nodes, load }) => {
        for (let n = 0; n < rounds; n++) {
          const node = nodes[n % nodes.length]!;
          await load.untilMore(200);
          await node.end("SIGKILL");
          // The other node takes over.
          await load.untilMore(100);
          await node.start();
        }
        return { mayReject: false };
      }),
    60_000 + rounds * 60_000,
  );

  test(
    `the database is killed and started again, ${rounds} times`,
    async () =>
      survive((await postgres.database(makeTables)).url, async ({ nodes, load }) => {
        for (let n = 0; n < rounds; n++) {
          await load.untilMore(200);
          const readiness = watchReadiness(nodes);
          await postgres.stop("immediate");
          await load.during(n === 0 ? 3_000 : 300);
          await postgres.start();
          await readiness.isBack(recoveryMs);
        }
        return { mayReject: true };
      }),
    60_000 + rounds * 60_000,
  );

  // Runs only if it is installed.
  test.if(hasPgbouncer)(
    "through pgbouncer in transaction mode, which is killed and started again",
    async () => {
      const pgbouncer = await startPgbouncer((await postgres.database(makeTables)).url);
      await survive(pgbouncer.url, async ({ nodes, load }) => {
        await load.untilMore(200);
        const readiness = watchReadiness(nodes);
        await pgbouncer.stop();
        await load.during(1_000);
        await pgbouncer.start();
        await readiness.isBack(recoveryMs);
        return { mayReject: true };
      });
      await pgbouncer.remove();
    },
  );

  test("the primary vanishes and its standby is promoted", async () => {
    const address = await startForwarder(Number(new URL(postgres.adminUrl("postgres")).port));
    const database = await postgres.database(makeTables);
    const standby = await startStandby(postgres);
    await survive(at(database.url, address.port), async ({ nodes, load }) => {
      await load.untilMore(300);
      const readiness = watchReadiness(nodes);
      address.goSilent();
      await postgres.stop("immediate");
      await load.during(3_000);
      // The new address is still a standby. It must not be read, because it can lack what was acknowledged.
      address.forwardTo(standby.port);
      for (const node of nodes) {
        const page = await node.request("/api/events?limit=1");
        expect([page.status, await page.text()]).toEqual([503, expect.stringContaining("a standby")]);
      }
      await load.during(1_000);
      await standby.promote();
      await readiness.isBack(recoveryMs);
      return { mayReject: true };
    });
    address.close();
    await standby.remove();
  }, 600_000);
});

function at(url: string, port: number): string {
  return Object.assign(new URL(url), { port }).href;
}

type Scene = { nodes: Node[]; load: ReturnType<typeof startLoad> };

/** Runs a load and live streams on two nodes, and then checks what the clients and streams received. */
async function survive(
  databaseUrl: string,
  disaster: (scene: Scene) => Promise<{ mayReject: boolean }>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "tidings-nodes-"));
  const config = await testConfig({ dataDirectory: directory, databaseUrl });
  const nodes = await startNodes(config, 2);
  try {
    const streams = await Promise.all([0, 0, 1, 1].map((first) => watchStream(nodes, first)));
    using load = startLoad(nodes, clients, { allowUnavailable: true });
    const { mayReject } = await disaster({ nodes, load });
    await load.untilMore(100);
    const loadResult = await load.stop();

    const events = await expectToldEvents(nodes[0]!, loadResult);
    for (const stream of streams) await stream.expectDelivered(events);
    expect(loadResult.repeated).toBeGreaterThan(5);
    expect(loadResult.slowestMs).toBeLessThan(answerMs);
    expect(loadResult.rejected > 0).toBe(mayReject);
    for (const node of nodes) expect((await node.end("SIGTERM")).code).toBe(0);
    expect(await expectConsistent(config)).toBe(events.length);
  } finally {
    for (const node of nodes) await node.end("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  }
}
