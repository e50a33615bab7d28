/**
 * A load generator like `load.ts`, for servers that don't speak HTTP: it sends events with the official clients. It
 * reads its job as JSON from stdin and prints a `LoadResult` as JSON on stdout.
 *
 * The job: `kind`, `port`, or `url` of a database; `connections`, each with one event in flight; `warmupMs`,
 * `durationMs`; `bodies`, sent in turn.
 */
import { randomUUID } from "node:crypto";
import { runJob } from "../job.ts";
import { Latencies } from "../latencies.ts";

const openers = { redis: openRedis, nats: openNats, postgres: openPostgres };
/** As many as the hand-written server's pool has. */
const poolMax = 20;

async function publish({ kind, connections, warmupMs, durationMs, bodies, ...address }) {
  const { send, close } = await openers[kind](address, connections);
  const latencies = new Latencies();
  let next = 0;
  let acknowledged = 0;
  const cpuBefore = process.cpuUsage();
  const countFrom = performance.now() + warmupMs;
  const countUntil = countFrom + durationMs;
  async function sendAll(connection) {
    for (let sentAt = performance.now(); sentAt < countUntil; ) {
      await send(bodies[next++ % bodies.length], connection);
      acknowledged++;
      const now = performance.now();
      if (now >= countFrom && now < countUntil) latencies.add(now - sentAt);
      sentAt = now;
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, connection) => sendAll(connection)));
  const cpu = process.cpuUsage(cpuBefore);
  await close();
  const { count: counted, ...times } = latencies.summary();
  return {
    ...times,
    perSecond: counted / (durationMs / 1_000),
    counted,
    acknowledged,
    generatorCpuUs: (cpu.user + cpu.system) / acknowledged,
  };
}

async function openRedis({ port }, connections) {
  const { createClient } = await import("@redis/client");
  const clients = await openAll(connections, () =>
    createClient({ socket: { host: "127.0.0.1", port } })
      .on("error", (error) => console.error(error.message))
      .connect(),
  );
  return {
    send: (event, connection) => clients[connection].xAdd("events", "*", { event }),
    close: () => Promise.all(clients.map((client) => client.close())),
  };
}

async function openNats({ port }, connections) {
  const { connect } = await import("@nats-io/transport-node");
  const { jetstream, jetstreamManager } = await import("@nats-io/jetstream");
  const clients = await openAll(connections, () => connect({ servers: `127.0.0.1:${port}` }));
  const manager = await jetstreamManager(clients[0]);
  // Does nothing if the stream is there already.
  await manager.streams.add({ name: "events", subjects: ["events"], storage: "file" });
  const streams = clients.map((client) => jetstream(client));
  return {
    send: (event, connection) => streams[connection].publish("events", event),
    close: () => Promise.all(clients.map((client) => client.close())),
  };
}

async function openPostgres({ url }, connections) {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: url, max: Math.min(connections, poolMax) });
  const text = `INSERT INTO events (id, project, channel, name, user_id, description, notify, tags, created_at)
                VALUES ($1, 1, $2, $3, $4, $5, false, '{}', now())`;
  const valuesOf = (body) => {
    const { channel, name, userId, description } = JSON.parse(body);
    return [randomUUID(), channel, name, userId, description];
  };
  return {
    send: (body) => pool.query({ name: "insert-event", text, values: valuesOf(body) }),
    close: () => pool.end(),
  };
}

function openAll(connections, open) {
  return Promise.all(Array.from({ length: connections }, open));
}

await runJob(publish);
