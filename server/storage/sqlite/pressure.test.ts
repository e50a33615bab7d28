// @long
import { describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import type { Event } from "../../event/event.ts";
import { canMount, smallDisk, thinDisk } from "../../testing/disks.ts";
import { rawRequest } from "../../testing/raw-request.ts";
import { testProcess } from "../../testing/server-process.ts";
import { until } from "../../testing/until.ts";
import { busyTimeoutMs, databaseFile, openForWriting } from "./open.ts";

if (!canMount)
  console.log("The tests of failing disks are left out: they need root on Linux, to mount some.");

type App = Awaited<ReturnType<typeof testProcess>>;
type Reply = { status: number; retryAfter: string | null; type: string | undefined; id: string | undefined };

async function post(app: App, event: object): Promise<Reply> {
  const response = await app.post(event);
  const answer = (await response.json()) as { type?: string; event?: Event };
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    type: answer.type,
    id: answer.event?.id,
  };
}

async function listed(app: App): Promise<string[]> {
  const response = await app.request("/api/events");
  expect(response.status).toBe(200);
  return ((await response.json()) as { events: Event[] }).events.map(({ id }) => id).toSorted();
}

/** Waits until a file has not been written to for a quarter of a second. */
async function untilUnchanged(file: string): Promise<void> {
  await until(() => Date.now() - statSync(file).mtimeMs > 250);
}

const long = { channel: "a", name: "long", description: "word ".repeat(1_000) };

/** Posts from eight clients until one does not get 201. Returns what all got. */
async function postUntilRejected(app: App): Promise<{ stored: string[]; rejections: Reply[] }> {
  const stored: string[] = [];
  const rejections: Reply[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (rejections.length === 0) {
        const reply = await post(app, long);
        if (reply.status === 201) stored.push(reply.id!);
        else rejections.push(reply);
      }
    }),
  );
  return { stored, rejections };
}

describe.skipIf(!canMount)("a disk", () => {
  test("that is full rejects with 507, can be read, and accepts events again once there is space", async () => {
    using disk = smallDisk(16);
    await using app = await testProcess({ dataDirectory: disk.directory });
    disk.fill(8);
    const { stored, rejections } = await postUntilRejected(app);
    for (const reply of rejections) {
      expect(reply).toMatchObject({ status: 507, type: "/problems/storage-full", retryAfter: "30" });
    }
    expect(stored.length).toBeGreaterThan(100);
    expect(await listed(app)).toEqual(stored.toSorted());
    // Small events can still fit. A rejected event is never partly stored.
    disk.fill();
    const small = await Promise.all(
      Array.from({ length: 200 }, () => post(app, { channel: "b", name: "s" })),
    );
    for (const { status, id } of small) {
      if (status === 201) stored.push(id!);
      else expect(status).toBe(507);
    }
    disk.free();
    await until(async () => (await app.request("/readyz")).status === 200);
    const after = await post(app, long);
    expect(after.status).toBe(201);
    expect(await listed(app)).toEqual([...stored, after.id!].toSorted());
    // After a restart, no rejected event appears.
    await app.end("SIGKILL");
    await app.start();
    expect(await listed(app)).toEqual([...stored, after.id!].toSorted());
  });

  test("that became read-only rejects with 503 and can be read", async () => {
    using disk = thinDisk(24);
    await using app = await testProcess({ dataDirectory: disk.directory });
    const before = await post(app, long);
    // A write in progress would end the process, because its fsync fails; the next test is about that.
    await untilUnchanged(`${databaseFile(disk.directory)}-wal`);
    disk.makeReadOnly();
    for (let n = 0; n < 3; n++) {
      expect(await post(app, long)).toMatchObject({
        status: 503,
        type: "/problems/storage-unavailable",
        retryAfter: "5",
      });
    }
    const ready = await app.request("/readyz");
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { type: "/problems/storage-unavailable" },
    ]);
    expect(await listed(app)).toEqual([before.id!]);
    // Counts, too, though they can't be brought up to date.
    for (const path of ["/api/channels", "/api/stats"]) expect((await app.request(path)).status).toBe(200);
    await app.end("SIGTERM");
    disk.repair();
    await app.start();
    const after = await post(app, long);
    expect(await listed(app)).toEqual([before.id!, after.id!].toSorted());
  });

  test("whose fsync fails ends the process, and no acknowledged event is lost", async () => {
    using disk = thinDisk(16);
    await using app = await testProcess({ dataDirectory: disk.directory });
    const stored: string[] = [];
    for (let n = 0; n < 50; n++) stored.push((await post(app, long)).id!);
    disk.fill();
    const ended = app.ended();
    const statuses = new Set<number>();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (;;) {
          const reply = await post(app, long).catch(() => null);
          if (reply === null) return;
          statuses.add(reply.status);
          if (reply.status === 201) stored.push(reply.id!);
        }
      }),
    );
    const { code, stdout } = await ended;
    expect(code).toBe(1);
    expect(stdout).toContain("SQLITE_IOERR_FSYNC");
    disk.free();
    disk.repair();
    await app.start();
    const there = new Set(await listed(app));
    expect(stored.filter((id) => !there.has(id))).toEqual([]);
  });
});

test("a write that fails is rejected with 503, and the next one is stored if possible", async () => {
  await using app = await testProcess();
  const limitFile = (bytes: string) =>
    Bun.spawnSync(["prlimit", "--pid", `${app.pid}`, `--fsize=${bytes}:unlimited`]);
  const before = await post(app, long);
  // The kernel refuses to extend a file (EFBIG). To SQLite, that is an I/O error, not a full disk.
  if (!limitFile("20000").success) return console.log("Left out: there is no prlimit here.");
  const rejected = await Promise.all(Array.from({ length: 20 }, () => post(app, long)));
  for (const reply of rejected) {
    expect(reply).toMatchObject({ status: 503, type: "/problems/storage-unavailable", retryAfter: "5" });
  }
  expect(await listed(app)).toEqual([before.id!]);
  limitFile("unlimited");
  const after = await post(app, long);
  expect(await listed(app)).toEqual([before.id!, after.id!].toSorted());
});

test("a database that another process locks for long rejects with 503, and each event is stored or rejected", async () => {
  await using app = await testProcess();
  const other = openForWriting(databaseFile(app.config.dataDirectory));
  other.run("BEGIN IMMEDIATE");
  const replies = await Promise.all(
    Array.from({ length: 200 }, (_, n) => post(app, { channel: "a", name: `${n}` })),
  );
  expect(await listed(app)).toEqual([]);
  for (const reply of replies) {
    expect(reply).toMatchObject({ status: 503, type: "/problems/storage-unavailable", retryAfter: "5" });
  }
  // Shorter than the writer's time-out: stored late.
  const late = post(app, { channel: "a", name: "late" });
  await Bun.sleep(100);
  other.run("COMMIT");
  other.close();
  const stored = await late;
  expect(stored.status).toBe(201);
  expect(await listed(app)).toEqual([stored.id!]);
  // Only the writer's two batches waited. The others were rejected with the first one, without a wait of their own.
  const { stdout } = await app.end("SIGTERM");
  expect(stdout.match(/SQLITE_BUSY/g)!.length).toBeLessThanOrEqual(2);
});

test("events beyond the queue's limit are rejected with 503 in bounded memory, and accepted ones are stored", async () => {
  await using app = await testProcess();
  const other = openForWriting(databaseFile(app.config.dataDirectory));
  await post(app, { channel: "a", name: "first" });
  const startMb = app.memoryMb();
  other.run("BEGIN IMMEDIATE");
  const body = JSON.stringify({
    channel: "a",
    name: "large",
    description: "d".repeat(10_000),
    tags: Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`key ${n}`, "v".repeat(1_000)])),
  });
  const requests: Awaited<ReturnType<typeof rawRequest>>[] = [];
  const head = `POST /api/events HTTP/1.1\r\nhost: a\r\nx-api-key: ${app.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  for (let n = 0; n < 2_000; n += 50) {
    requests.push(
      ...(await Promise.all(Array.from({ length: 50 }, () => rawRequest(app.address, head, body)))),
    );
  }
  // The last ones get a response while the database is locked: the queue is full.
  expect(await requests.at(-1)!.status()).toBe(503);
  expect(requests.at(-1)!.text).toContain("/problems/overloaded");
  expect(requests.at(-1)!.text.toLowerCase()).toContain("retry-after: 1");
  // Without a limit it would take 480 MB more; with it, 200. The wait for the database ends with the busy time-out.
  await app.memoryDownTo(startMb + 350, busyTimeoutMs / 2);
  expect(await listed(app)).toHaveLength(1);
  other.run("COMMIT");
  other.close();
  const statuses = await Promise.all(requests.map((request) => request.status()));
  const accepted = statuses.filter((status) => status === 201).length;
  expect(accepted).toBeGreaterThan(300);
  expect(statuses.filter((status) => status === 503)).toHaveLength(statuses.length - accepted);
  expect(await listed(app)).toHaveLength(1 + accepted);
  for (const request of requests) request[Symbol.dispose]();
});
