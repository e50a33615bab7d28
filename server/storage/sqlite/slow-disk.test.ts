// @long
/** A disk that is slow, and one whose fsync fails once. */
import { describe, expect, test } from "bun:test";
import { canInject, faultyDisk } from "../../testing/injected-faults.ts";
import { testProcess } from "../../testing/server-process.ts";
import { until } from "../../testing/until.ts";

if (!canInject)
  console.log("The tests of slow disks are left out: they need strace, which may trace processes.");

const syncMs = 200;

type App = Awaited<ReturnType<typeof testProcess>>;

async function listedIds(app: App): Promise<string[]> {
  const { events } = (await (await app.request("/api/events")).json()) as { events: { id: string }[] };
  return events.map(({ id }) => id).toSorted();
}

describe.skipIf(!canInject)("a disk", () => {
  test(`whose fsync takes ${syncMs} ms slows no reads, and more events share a commit`, async () => {
    using disk = faultyDisk(`delay_exit=${syncMs}ms`);
    await using app = await testProcess({}, disk.program);
    const stored: string[] = [];
    const post = async (name: string) => {
      const startMs = performance.now();
      const response = await app.post({ channel: "c", name });
      expect(response.status).toBe(201);
      stored.push(((await response.json()) as { event: { id: string } }).event.id);
      return performance.now() - startMs;
    };
    expect(await post("alone")).toBeGreaterThanOrEqual(syncMs);

    const callsBefore = disk.calls();
    let isOver = false;
    let reads = 0;
    const reading = (async () => {
      for (; !isOver; reads++) expect((await app.request("/api/events?limit=10")).status).toBe(200);
    })();
    await Promise.all(Array.from({ length: 500 }, (_, n) => post(`${n}`)));
    isOver = true;
    await reading;
    const calls = disk.calls() - callsBefore;
    expect(calls).toBeLessThan(100);
    // Readers don't wait for commits.
    expect(reads).toBeGreaterThan(calls);

    // More than the queue takes.
    const batch = JSON.stringify(Array.from({ length: 1_000 }, (_, n) => ({ channel: "c", name: `${n}` })));
    const statuses = await Promise.all(
      Array.from({ length: 80 }, async () => {
        const headers = { "content-type": "application/json" };
        const response = await app.request("/api/events", { method: "POST", headers, body: batch });
        const { results = [] } = (await response.json()) as { results?: { ok: boolean; id: string }[] };
        for (const { ok, id } of results) if (ok) stored.push(id);
        return response.status === 503
          ? `503, again in ${response.headers.get("retry-after")}`
          : response.status;
      }),
    );
    for (const status of statuses) expect([201, 207, "503, again in 1"]).toContain(status);

    // The queue is empty again.
    await post("after");
    expect(await listedIds(app)).toEqual(stored.toSorted());
  }, 120_000);

  test("whose fsync fails once ends the process, and no acknowledged event is lost", async () => {
    using disk = faultyDisk("error=EIO:when=60");
    await using app = await testProcess({}, disk.program);
    const stored: string[] = [];
    const ended = app.ended();
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (;;) {
          const response = await app.post({ channel: "c", name: "n" }).catch(() => null);
          if (!response) return;
          const { event } = (await response.json().catch(() => ({}))) as { event?: { id: string } };
          if (response.status === 201 && event) stored.push(event.id);
        }
      }),
    );
    const { code, stdout } = await ended;
    expect([code, stdout.includes("SQLITE_IOERR_FSYNC")]).toEqual([1, true]);
    await app.start();
    await until(async () => (await app.request("/readyz")).status === 200);
    const there = new Set(await listedIds(app));
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.filter((id) => !there.has(id))).toEqual([]);
  });
});
