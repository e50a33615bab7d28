/** Many connections at once: idle ones, live streams, and clients that send a byte at a time. */
import { expect, test } from "bun:test";
import { effort, environmentOf, makeStorage, removeStorage } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { every } from "../testing/every.ts";
import { longTest } from "../testing/long-test.ts";
import { rawRequest } from "../testing/raw-request.ts";
import { fromSource, startServer, testProcess } from "../testing/server-process.ts";

const idleConnections = effort(300, 9_000);
/** Bun's `fetch` has at most 256 connections at a time. */
const streams = effort(30, 200);
const slowWriters = 40;
const posts = effort(50, 300);

longTest(
  "a connection stays open after a POST for longer than clients keep it, and its next request must still arrive in time",
  async () => {
    await using app = await testProcess();
    const host = new URL(app.address).host;
    const body = '{"channel":"c","name":"n"}';
    const head = `POST /api/events HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${app.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const idle = await rawRequest(app.address, head + body);
    expect(await idle.status()).toBe(201);
    const startMs = performance.now();
    // On a busy machine the rest can take longer than the server keeps it.
    let openMs = Number.POSITIVE_INFINITY;
    void idle.closed.then(() => {
      openMs = performance.now() - startMs;
    });
    // The server closes each of these after ten seconds.
    for (let n = 0; n < 2; n++) {
      const stalled = await rawRequest(app.address, head + body);
      expect(await stalled.status()).toBe(201);
      stalled.send(head);
      await stalled.closed;
    }
    expect(openMs).toBeGreaterThan(20_000);
    idle[Symbol.dispose]();
  },
);

test(`${idleConnections} idle connections, ${streams} streams and slow writers stop no event and take little memory`, async () => {
  await using app = await testProcess();
  const post = async () => {
    const startMs = performance.now();
    expect((await app.post({ channel: "c", name: "n" })).status).toBe(201);
    return performance.now() - startMs;
  };
  for (let n = 0; n < 20; n++) await post();
  const beforeMb = await app.heldMb();

  const connections: Awaited<ReturnType<typeof rawRequest>>[] = [];
  const host = new URL(app.address).host;
  for (let n = 0; n < idleConnections; n += 100) {
    const opened = await Promise.all(
      Array.from({ length: 100 }, () =>
        rawRequest(app.address, `GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`),
      ),
    );
    for (const each of opened) expect(await each.status()).toBe(200);
    connections.push(...opened);
  }
  const live = await Promise.all(Array.from({ length: streams }, () => openStream(app)));
  const head = `POST /api/events HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${app.key}\r\ncontent-type: application/json\r\n`;
  const body = '{"channel":"c","name":"slow"}';
  const slow = await Promise.all(
    Array.from({ length: slowWriters }, (_, n) =>
      rawRequest(
        app.address,
        n % 2 === 0 ? head : `${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
      ),
    ),
  );
  let at = 5;
  using _trickling = every(500, () => {
    const part = at < body.length - 1 ? body[at++]! : " ";
    for (const [n, each] of slow.entries()) if (!each.isClosed) each.send(n % 2 === 0 ? "a" : part);
  });

  const times: number[] = [];
  for (let n = 0; n < posts; n += 10)
    times.push(...(await Promise.all(Array.from({ length: 10 }, () => post()))));
  for (const stream of live) expect(await stream.events(posts)).toHaveLength(posts);
  const perConnection = ((app.memoryMb() - beforeMb) * 1_024) / (idleConnections + streams);
  if (posts > 100) {
    times.sort((a, b) => a - b);
    console.log(
      `${connections.filter((each) => !each.isClosed).length} idle connections: p99 ${times[Math.floor(times.length * 0.99)]!.toFixed(1)} ms, ${perConnection.toFixed(1)} kB each`,
    );
    // A request must arrive within ten seconds, at whatever pace its bytes come.
    await Promise.all(slow.map((each) => each.closed));
  }
  await app.heldDownTo(beforeMb + 60 + (idleConnections + streams) / 50);
  for (const each of [...connections, ...slow]) each[Symbol.dispose]();
  for (const stream of live) stream.close();
}, 600_000);

test.skipIf(process.platform !== "linux")(
  "a server that may open few files says so when it starts",
  async () => {
    const storage = await makeStorage();
    const limited = ["sh", "-c", 'ulimit -n 256 && exec "$@"', "sh", ...fromSource];
    const server = await startServer({ ...environmentOf(storage), TIDINGS_LOG: "warn" }, undefined, limited);
    const { stdout } = await server.end("SIGTERM");
    expect(stdout).toContain("allows 256 open files, which is about 156 connections");
    await removeStorage(storage);
  },
);
