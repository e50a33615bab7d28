// @engines sqlite, postgres
// @long postgres
/** Deliveries to a webhook when the server is killed while it sends, and when two nodes send. */
import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { commandActor } from "../audit/audit-log.ts";
import type { Config } from "../config/config.ts";
import { effort, engine, environmentOf, removeStorage, testSecrets } from "../testing/engine.ts";
import { startServer } from "../testing/server-process.ts";
import { openTestStore, preparedConfig } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { addProjectDestination } from "./project-destinations.ts";

/** A webhook that verifies requests and counts them by id. */
function webhookReceiver() {
  let secret = "";
  const received = new Map<string, number>();
  const faults: unknown[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = await request.text();
      const headers = Object.fromEntries(request.headers);
      try {
        new Webhook(secret).verify(body, headers);
      } catch (error) {
        faults.push(error);
      }
      const id = headers["webhook-id"]!;
      received.set(id, (received.get(id) ?? 0) + 1);
      return new Response(null, { status: 204 });
    },
  });
  return {
    received,
    faults,
    url: server.url.href,
    use(signingSecret: string) {
      secret = signingSecret;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** Stores deliveries for a webhook while no server runs, and returns their number. */
async function storeDeliveries(
  config: Config,
  receiver: ReturnType<typeof webhookReceiver>,
  count: number,
): Promise<number> {
  const store = await openTestStore(config);
  const { control } = store;
  const { id: projectId } = await control.selectFrom("projects").select("id").executeTakeFirstOrThrow();
  const { destination, signingSecret } = await addProjectDestination(
    {
      control,
      secrets: testSecrets,
      policy: { allowPrivate: true },
      projectId,
      actor: commandActor,
      isManager: false,
    },
    {
      kind: "webhook",
      name: "Webhook",
      settings: { url: receiver.url },
      enabled: true,
      hourlyLimit: null,
      rules: [],
    },
  );
  receiver.use(signingSecret!);
  const now = Date.now();
  const rule = { name: "Payments", q: "" };
  const ids = await control
    .insertInto("deliveries")
    .values(
      Array.from({ length: count }, () => ({
        projectId,
        destinationId: destination.id,
        notification: JSON.stringify({ type: "silence", atMs: now, sinceMs: now - 60_000, rule }),
        kind: "webhook",
        label: "Webhook",
        state: "waiting" as const,
        createdAt: now,
        nextAttemptAt: now,
      })),
    )
    .returning("id")
    .execute();
  await store.close();
  return ids.length;
}

const environmentFor = (config: Config) => ({
  ...environmentOf(config),
  TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true",
});

const kills = effort(1, 10);
const count = effort(80, 1_000);

test(`a server that is killed ${kills} times while it sends ${count} deliveries sends each, with the same id`, async () => {
  await using receiver = webhookReceiver();
  const { config } = await preparedConfig();
  expect(await storeDeliveries(config, receiver, count)).toBe(count);
  for (let killed = 0; killed < kills; killed++) {
    const server = await startServer(environmentFor(config));
    const target = ((killed + 1) * count) / (kills + 1);
    await until(() => receiver.received.size >= target);
    await server.end("SIGKILL");
    // As if the claims of the dead process had expired.
    const store = await openTestStore(config);
    await store.control
      .updateTable("deliveries")
      .set({ nextAttemptAt: 0 })
      .where("state", "=", "waiting")
      .execute();
    await store.close();
  }
  const server = await startServer(environmentFor(config));
  await until(() => receiver.received.size >= count);
  await server.end("SIGTERM");
  // Attempts of one delivery have the same id.
  expect(receiver.received.size).toBe(count);
  expect(receiver.faults).toEqual([]);
  const store = await openTestStore(config);
  const states = await store.control.selectFrom("deliveries").select("state").distinct().execute();
  await store.close();
  expect(states).toEqual([{ state: "delivered" }]);
  await removeStorage(config);
}, 600_000);

test.if(engine === "postgres")("each delivery is sent by one of two nodes", async () => {
  await using receiver = webhookReceiver();
  const { config } = await preparedConfig();
  const stored = await storeDeliveries(config, receiver, effort(80, 200));
  const nodes = await Promise.all([1, 2].map(() => startServer(environmentFor(config))));
  await until(() => receiver.received.size >= stored);
  for (const node of nodes) await node.end("SIGTERM");
  expect(receiver.received.size).toBe(stored);
  expect(new Set(receiver.received.values())).toEqual(new Set([1]));
  expect(receiver.faults).toEqual([]);
  await removeStorage(config);
});
