// @long
/** A full disk at each kind of write but events, which are in `pressure.test.ts`. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canMount, smallDisk } from "../../testing/disks.ts";
import { environmentOf, testSecretKey } from "../../testing/engine.ts";
import { runTidings, startServer, testProcess } from "../../testing/server-process.ts";
import { testPassword } from "../../testing/test-app.ts";
import { until } from "../../testing/until.ts";
import { databaseFile, openForReading, versionOf } from "./open.ts";

if (!canMount) console.log("The tests of full disks are left out: they need root on Linux, to mount some.");

const json = { "content-type": "application/json" };

type TestProcess = Awaited<ReturnType<typeof testProcess>>;

describe.skipIf(!canMount)("with a full disk,", () => {
  test("settings, sign-ins, jobs and rejected events say so, and all work again once there is space", async () => {
    using disk = smallDisk(16);
    await using app = await testProcess({ dataDirectory: disk.directory });
    const events = Array.from({ length: 50 }, (_, n) => ({ channel: "c", name: `${n}`, userId: "ada" }));
    expect((await app.post(events)).status).toBe(201);
    const send = async (
      method: string,
      path: string,
      body?: object,
      headers: Record<string, string> = {},
    ) => {
      const init = { method, headers: { ...json, ...headers }, ...(body && { body: JSON.stringify(body) }) };
      const response = await app.request(path, init);
      return { status: response.status, ...((await response.json()) as { type?: string; detail?: string }) };
    };
    const full = { status: 507, type: "/problems/storage-full" };
    const writes = {
      "a setting": () => send("PUT", "/api/insights/a", { value: 1, title: "A" }),
      "a channel": () => send("POST", "/api/channels", { name: `c-${crypto.randomUUID()}` }),
      "an erasure": () => send("DELETE", "/api/users/ada"),
      "a sign-in": () =>
        send(
          "POST",
          "/api/auth/sign-in/email",
          { email: "owner@example.com", password: testPassword },
          { origin: app.address },
        ),
    };
    // Without it, commits use the log's pages again and again, and small ones always fit.
    using reading = openForReading(databaseFile(disk.directory));
    reading.run("BEGIN");
    reading.query("SELECT count(*) FROM events").get();
    // Its space would go to the first of these writes.
    rmSync(join(disk.directory, "tidings.reserve"));
    disk.fill();
    await until(async () => (await writes["a setting"]()).status === 507);
    for (const [name, write] of Object.entries(writes))
      expect([name, await write()]).toMatchObject([name, full]);
    // The sender learns what is wrong with the event, which can't be kept.
    expect(await send("POST", "/api/events", { channel: "c" })).toMatchObject({
      status: 422,
      type: "/problems/body-invalid",
    });
    expect((await app.request("/api/events")).status).toBe(200);
    expect((await app.request("/healthz")).status).toBe(200);

    disk.free();
    reading.close();
    await until(async () => (await writes["a setting"]()).status === 200);
    expect((await writes["a channel"]()).status).toBe(201);
    expect((await writes["a sign-in"]()).status).toBe(200);
    const erased = await app.request("/api/users/ada", { method: "DELETE" });
    expect(erased.status).toBe(202);
    const { job } = (await erased.json()) as { job: { id: string } };
    await until(async () => {
      const response = await app.request(`/api/jobs/${job.id}`);
      return ((await response.json()) as { job: { state: string } }).job.state === "done";
    });
    expect(await send("POST", "/api/events", { channel: "c" })).toMatchObject({ status: 422 });
    await until(async () => {
      const response = await app.request("/api/events/rejected");
      return ((await response.json()) as { rejected: unknown[] }).rejected.length > 0;
    });
  });

  const large = Array.from({ length: 100 }, (_, n) => ({
    channel: "c",
    name: `${n}`,
    userId: "ada",
    description: "long ".repeat(200),
  }));
  /** The log is moved into the database with the reserve's space, and events can be deleted then. */
  async function expectLeft(app: TestProcess): Promise<void> {
    await until(async () => (await app.request("/api/channels/c", { method: "DELETE" })).status === 202);
    await until(async () => (await app.post({ channel: "d", name: "after" })).status === 201, 30_000);
    await until(async () => (await app.request("/readyz")).status === 200);
  }

  test("that has nothing else on it, events can be deleted, and others are recorded then", async () => {
    using disk = smallDisk(16);
    await using app = await testProcess({ dataDirectory: disk.directory });
    await until(async () => (await app.post(large)).status === 507);
    expect((await app.request("/api/events?limit=5")).status).toBe(200);
    await expectLeft(app);
  });

  test("that filled up during a long read, which keeps the log from being emptied, can be left, too", async () => {
    using disk = smallDisk(16);
    await using app = await testProcess({ dataDirectory: disk.directory });
    for (let n = 0; n < 20; n++) expect((await app.post(large)).status).toBe(201);
    using reading = openForReading(databaseFile(disk.directory));
    reading.run("BEGIN");
    reading.query("SELECT count(*) FROM events").get();
    await until(async () => (await app.post(large)).status === 507);
    // Nothing that is tried meanwhile takes the space that the log needs.
    for (let n = 0; n < 20; n++) await app.post(large.slice(0, 5));
    reading.close();
    await expectLeft(app);
  });

  test("a server starts, answers reads, refuses writes, and works once there is space", async () => {
    using disk = smallDisk(16);
    await using app = await testProcess({ dataDirectory: disk.directory });
    expect((await app.post({ channel: "c", name: "before" })).status).toBe(201);
    await app.end("SIGKILL");
    // As if there had never been space for a reserve.
    rmSync(join(disk.directory, "tidings.reserve"));
    disk.fill();
    await app.start();
    const listed = (await (await app.request("/api/events")).json()) as { events: { name: string }[] };
    expect(listed.events.map(({ name }) => name)).toEqual(["before"]);
    const large = { channel: "c", name: "n", description: "long ".repeat(2_000) };
    await until(async () => (await app.post(Array(50).fill(large))).status === 507);
    disk.free();
    await until(async () => (await app.post(large)).status === 201);
    await app.end("SIGTERM");
  });

  test("a job that runs waits, and ends once there is space", async () => {
    using disk = smallDisk(32);
    await using app = await testProcess({ dataDirectory: disk.directory });
    const events = Array.from({ length: 1_000 }, (_, n) => ({ channel: "c", name: `${n}`, userId: "ada" }));
    for (let n = 0; n < 10; n++) expect((await app.post(events)).status).toBe(201);
    const started = await app.request("/api/users/ada", { method: "DELETE" });
    expect(started.status).toBe(202);
    disk.fill();
    const { job } = (await started.json()) as { job: { id: string } };
    const state = async () => {
      const response = await app.request(`/api/jobs/${job.id}`);
      return ((await response.json()) as { job: { state: string } }).job.state;
    };
    expect(await state()).toMatch(/waiting|running|done/);
    disk.free();
    // The worker tries again within a minute.
    await until(async () => (await state()) === "done", 100_000);
    expect(((await (await app.request("/api/events")).json()) as { events: unknown[] }).events).toEqual([]);
  }, 600_000);

  test("a backup fails with a sentence, and leaves no part of a file", async () => {
    using disk = smallDisk(8);
    await using app = await testProcess();
    disk.fill();
    const { code, stderr } = await runTidings(["backup", "--to", disk.directory], environmentOf(app.config));
    expect(code).toBe(1);
    expect(stderr).toMatch(/full|space/);
    expect(readdirSync(disk.directory)).toEqual([]);
    disk.free();
    expect((await runTidings(["backup", "--to", disk.directory], environmentOf(app.config))).code).toBe(0);
  });

  test("an upgrade fails with a sentence, and leaves the old database, which is upgraded once there is space", async () => {
    using disk = smallDisk(16);
    const file = join(disk.directory, "tidings.db");
    const stored = readFileSync(join(import.meta.dir, "../../testing/released/schema-1.db.gz"));
    writeFileSync(file, Bun.gunzipSync(stored));
    const environment = {
      ...environmentOf({ dataDirectory: disk.directory, databaseUrl: null }),
      TIDINGS_SECRET_KEY: testSecretKey,
    };
    disk.fill();
    const { code, stderr } = await runTidings(["serve"], { ...environment, PORT: "0" });
    expect(code).toBe(1);
    expect(stderr).toMatch(/full|space/);
    const version = () => {
      const database = openForReading(file);
      const found = versionOf(database);
      database.close();
      return found;
    };
    disk.free();
    expect(version()).toBe(1);
    const server = await startServer(environment);
    expect((await fetch(`${server.address}/readyz`)).status).toBe(200);
    await server.end("SIGTERM");
    expect(version()).toBeGreaterThan(1);
  });
});
