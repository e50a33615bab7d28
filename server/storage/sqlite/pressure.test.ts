import { describe, expect, test } from "bun:test";
import type { Event } from "../../event/event.ts";
import { canMount, smallDisk, thinDisk } from "../../testing/disks.ts";
import { rawRequest } from "../../testing/raw-request.ts";
import { testProcess } from "../../testing/server-process.ts";
import { until } from "../../testing/until.ts";
import { busyTimeoutMs, databaseFile, openForWriting } from "./open.ts";

if (!canMount)
  console.log("The tests of failing disks are left out: they need root on Linux, to mount some.");

type App = Awaited<ReturnType<typeof testProcess>>;
type Told = { status: number; retryAfter: string | null; type: string | undefined; id: string | undefined };

async function post(app: App, event: object): Promise<Told> {
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

const long = { channel: "a", name: "long", description: "word ".repeat(1_000) };

/** Posts from eight clients until one is not told 201, and gives what all were told. */
async function postUntilRejected(app: App): Promise<{ stored: string[]; rejections: Told[] }> {
  const stored: string[] = [];
  const rejections: Told[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (rejections.length === 0) {
        const told = await post(app, long);
        if (told.status === 201) stored.push(told.id!);
        else rejections.push(told);
      }
    }),
  );
  return { stored, rejections };
}

describe.skipIf(!canMount)("a disk", () => {
  test("that is full rejects with 507, is read from, and takes events again once there is space", async () => {
    using disk = smallDisk(16);
    await using app = await testProcess({ dataDirectory: disk.directory });
    disk.fill(8);
    const { stored, rejections } = await postUntilRejected(app);
    for (const told of rejections) {
      expect(told).toMatchObject({ status: 507, type: "/problems/storage-full", retryAfter: "30" });
    }
    expect(stored.length).toBeGreaterThan(100);
    expect(await listed(app)).toEqual(stored.toSorted());
    // Small ones may still find a place; what is rejected is rejected, and never half there.
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
    // What had no place the first time is not there by surprise after a restart either.
    await app.end("SIGKILL");
    await app.start();
    expect(await listed(app)).toEqual([...stored, after.id!].toSorted());
  }, 60_000);

  test("that became read-only rejects with 503 and is read from", async () => {
    using disk = thinDisk(24);
    await using app = await testProcess({ dataDirectory: disk.directory });
    const before = await post(app, long);
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
    // Counts as well, though they can't be brought up to date.
    for (const path of ["/api/channels", "/api/stats"]) expect((await app.request(path)).status).toBe(200);
    await app.end("SIGTERM");
    disk.repair();
    await app.start();
    const after = await post(app, long);
    expect(await listed(app)).toEqual([before.id!, after.id!].toSorted());
  }, 60_000);

  test("whose fsync fails ends the process, and nothing that was acknowledged is lost", async () => {
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
          const told = await post(app, long).catch(() => null);
          if (told === null) return;
          statuses.add(told.status);
          if (told.status === 201) stored.push(told.id!);
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
  }, 60_000);
});

test("a write that fails is rejected with 503, and the next one is stored where it can be", async () => {
  await using app = await testProcess();
  const limitFile = (bytes: string) =>
    Bun.spawnSync(["prlimit", "--pid", `${app.pid}`, `--fsize=${bytes}:unlimited`]);
  const before = await post(app, long);
  // The kernel refuses to make a file longer (EFBIG), which SQLite knows as an I/O error and not as a full disk.
  if (!limitFile("20000").success) return console.log("Left out: there is no prlimit here.");
  const rejected = await Promise.all(Array.from({ length: 20 }, () => post(app, long)));
  for (const told of rejected) {
    expect(told).toMatchObject({ status: 503, type: "/problems/storage-unavailable", retryAfter: "5" });
  }
  expect(await listed(app)).toEqual([before.id!]);
  limitFile("unlimited");
  const after = await post(app, long);
  expect(await listed(app)).toEqual([before.id!, after.id!].toSorted());
});

test("a database that another process holds for long rejects with 503, and each event is stored or rejected", async () => {
  await using app = await testProcess();
  const other = openForWriting(databaseFile(app.config.dataDirectory));
  other.run("BEGIN IMMEDIATE");
  const told = await Promise.all(
    Array.from({ length: 200 }, (_, n) => post(app, { channel: "a", name: `${n}` })),
  );
  expect(await listed(app)).toEqual([]);
  for (const one of told) {
    expect(one).toMatchObject({ status: 503, type: "/problems/storage-unavailable", retryAfter: "5" });
  }
  // Shorter than the writer waits: stored late.
  const late = post(app, { channel: "a", name: "late" });
  await Bun.sleep(100);
  other.run("COMMIT");
  other.close();
  const stored = await late;
  expect(stored.status).toBe(201);
  expect(await listed(app)).toEqual([stored.id!]);
  // Only the two batches that the writer had waited in vain: the others were rejected with the first, without a wait of
  // their own.
  const { stdout } = await app.end("SIGTERM");
  expect(stdout.match(/SQLITE_BUSY/g)!.length).toBeLessThanOrEqual(2);
}, 30_000);

test("more than may wait is rejected with 503 in bounded memory, and what was accepted is stored", async () => {
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
  // The last ones are answered while the database is held: there is no place for them.
  expect(await requests.at(-1)!.status()).toBe(503);
  expect(requests.at(-1)!.text).toContain("/problems/overloaded");
  expect(requests.at(-1)!.text.toLowerCase()).toContain("retry-after: 1");
  // Without a bound it would be 480 MB more, and with it, 200. The writer waits for the database no longer than it may be busy.
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
}, 60_000);
