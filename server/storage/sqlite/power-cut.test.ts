// @long
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectConsistent } from "../../testing/consistency.ts";
import { canMount, cuttableDisk } from "../../testing/disks.ts";
import { effort } from "../../testing/engine.ts";
import { expectToldEvents, startLoad } from "../../testing/mixed-load.ts";
import { testProcess } from "../../testing/server-process.ts";

if (!canMount) console.log("The tests of power cuts are left out: they need root on Linux, to mount disks.");

const cuts = effort(2, 100);
const eventsBeforeCut = 50;

describe.skipIf(!canMount)("a power cut", () => {
  test(
    `loses no acknowledged event, ${cuts} times under load`,
    async () => {
      using disk = cuttableDisk(256);
      await using app = await testProcess({ dataDirectory: disk.directory });
      const clients = { id: 16, anonymous: 6, batch: 6, idempotent: 6 };
      using load = startLoad([app], clients, { allowUnavailable: true });
      for (let n = 0; n < cuts; n++) {
        await load.untilMore(eventsBeforeCut);
        // All of its threads stop between two system calls. An fsync that the cut meets may succeed, against its word.
        await app.freeze();
        disk.cutPower();
        await app.end("SIGKILL");
        await disk.restorePower();
        await app.start();
      }
      await load.untilMore(eventsBeforeCut);
      const { length } = await expectToldEvents(app, await load.stop());
      await app.end("SIGTERM");
      expect(await expectConsistent(app.config)).toBe(length);
    },
    60_000 + cuts * 10_000,
  );

  test("loses commits that were not synchronized, so the test would notice", async () => {
    using disk = cuttableDisk(32);
    const kept = async (synchronous: "FULL" | "NORMAL") => {
      const file = join(disk.directory, synchronous);
      const database = new Database(file, { create: true });
      database.run("PRAGMA journal_mode = WAL");
      database.run("CREATE TABLE events (id INTEGER)");
      database.run("PRAGMA wal_checkpoint");
      database.run(`PRAGMA synchronous = ${synchronous}`);
      for (let id = 0; id < 100; id++) database.run("INSERT INTO events VALUES (?)", [id]);
      disk.cutPower();
      database.close();
      await disk.restorePower();
      using restored = new Database(file);
      return (restored.query("SELECT count(*) AS count FROM events").get() as { count: number }).count;
    };
    expect(await kept("FULL")).toBe(100);
    expect(await kept("NORMAL")).toBeLessThan(100);
  });

  test("ends although a process in another mount namespace has a copy of the disk", async () => {
    using disk = cuttableDisk(32);
    const copy = Bun.spawn(["unshare", "--mount", "sh", "-c", "echo copied; read end"], {
      stdin: "pipe",
      stdout: "pipe",
    });
    await copy.stdout.getReader().read();
    const file = join(disk.directory, "file");
    writeFileSync(file, "synchronized", { flush: true });
    disk.cutPower();
    const restored = disk.restorePower();
    copy.kill();
    await restored;
    expect(readFileSync(file, "utf8")).toBe("synchronized");
  });
});
