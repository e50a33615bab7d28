// @engines postgres
// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { databaseFile, openForWriting } from "../storage/sqlite/open.ts";
import {
  clearMoves,
  copyOf,
  expectMoved,
  fill,
  migrateTo,
  newDatabase,
  newDirectory,
  queryRows,
} from "../testing/moves.ts";
import { runTidings, spawnTidings, startServer } from "../testing/server-process.ts";
import { prepare, testApp, testConfig } from "../testing/test-app.ts";

const events = 200;

let filled: Awaited<ReturnType<typeof fill>>;
beforeAll(async () => {
  filled = await fill(events);
}, 60_000);
afterAll(clearMoves, 60_000);

describe("a difference is listed, and the exit code is 1", () => {
  const cases: [name: string, change: string, says: RegExp][] = [
    [
      "an event that is another",
      "UPDATE events SET body = replace(body, 'Name', 'Nome') WHERE id = $1",
      /^events of .+: \d+ "[0-9a-f-]{36}" differs in PostgreSQL$/m,
    ],
    [
      "an event that is missing",
      "DELETE FROM events WHERE id = $1",
      /^events of .+: \d+ "[0-9a-f-]{36}" is missing in PostgreSQL$/m,
    ],
    [
      "a count of a channel",
      "UPDATE channels SET events = events + 1 WHERE name = 'c' AND $1 <> ''",
      /^channels: 1 "c" differs in PostgreSQL$/m,
    ],
  ];
  for (const [name, change, says] of cases) {
    test(name, async () => {
      const url = await newDatabase();
      await expectMoved(url, filled.directory);
      const [event] = await queryRows<{ id: string }>(
        url,
        "SELECT id FROM events WHERE body LIKE '%\"Name %' ORDER BY id LIMIT 1",
      );
      await queryRows(url, change.replace("$1", `'${event!.id}'`));
      const { code, stdout, stderr } = await migrateTo(url, filled.directory);
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^(events of .+|channels) +[\d,]+ {2}[0-9a-f]{32} {2}[\d,]+ rows, [0-9a-f]{32}$/m,
      );
      expect(stderr).toMatch(says);
      expect(stderr).toContain("The copies differ");
    });
  }
});

describe("it refuses, and says why", () => {
  test("invalid addresses, without printing a possible password", async () => {
    for (const address of [
      "nonsense secret",
      "mysql://me:secret@localhost/x",
      "postgres://me:secret@localhost",
    ]) {
      const { code, stdout, stderr } = await runTidings(["migrate-to", address], {
        TIDINGS_DATA: filled.directory,
      });
      expect(code).toBe(1);
      expect(stderr).toStartWith("The database must be a URL such as postgres://");
      expect(stderr + stdout).not.toContain("secret");
    }
  });

  test("a database that does not answer, or rejects the password", async () => {
    const wrong = new URL(await newDatabase());
    wrong.password = "wrong-secret";
    for (const [address, says] of [
      ["postgres://me:wrong-secret@127.0.0.1:1/x", "ECONNREFUSED"],
      [wrong.href, "password authentication failed"],
    ] as const) {
      const { code, stderr } = await migrateTo(address, filled.directory);
      expect(code).toBe(1);
      expect(stderr).toContain(says);
      expect(stderr).not.toContain("    at ");
    }
  });

  test("a directory without a database, which it leaves unchanged", async () => {
    const directory = newDirectory();
    const { code, stderr } = await migrateTo(await newDatabase(), directory);
    expect([code, stderr]).toEqual([1, expect.stringContaining("Set TIDINGS_DATA to the directory")]);
    expect([...new Bun.Glob("*").scanSync(directory)]).toEqual([]);
  });

  test("a directory of a newer version", async () => {
    const directory = copyOf(filled.directory);
    const database = openForWriting(databaseFile(directory));
    database.run("PRAGMA user_version = 999");
    database.close();
    const { code, stderr } = await migrateTo(await newDatabase(), directory);
    expect([code, stderr]).toEqual([1, expect.stringContaining("was written by a newer version of Tidings")]);
  });

  test("a directory that a server uses; and no server starts during a move", async () => {
    const directory = copyOf(filled.directory);
    const url = await newDatabase();
    const server = await startServer({ TIDINGS_DATA: directory });
    const { code, stderr } = await migrateTo(url, directory);
    expect([code, stderr]).toEqual([1, expect.stringContaining("Stop it first")]);
    await server.end("SIGTERM");

    const child = spawnTidings(["migrate-to", url], { TIDINGS_DATA: directory }, "");
    const reader = child.stderr.getReader();
    let told = "";
    while (!told.includes("Accounts, projects"))
      told += new TextDecoder().decode((await reader.read()).value);
    process.kill(child.pid, "SIGSTOP");
    const beside = await runTidings(["serve"], { TIDINGS_DATA: directory, PORT: "0" });
    expect([beside.code, beside.stderr]).toEqual([
      1,
      expect.stringContaining(`Process ${child.pid} (a command, since `),
    ]);
    process.kill(child.pid, "SIGCONT");
    for (let read = await reader.read(); !read.done; read = await reader.read()) {}
    expect(await child.exited).toBe(0);
  });

  test("a database with other data, or with an unfinished move of another directory", async () => {
    const occupied = await newDatabase();
    const app = await testApp({ dataDirectory: newDirectory(), databaseUrl: occupied });
    await app.running.stop();
    const { code, stderr } = await migrateTo(occupied, filled.directory);
    expect([code, stderr]).toEqual([1, expect.stringContaining("Use an empty database")]);

    const url = await newDatabase();
    await expectMoved(url, filled.directory);
    const served = newDirectory();
    await (await testApp({ dataDirectory: served, databaseUrl: null })).running.stop();
    const unserved = newDirectory();
    await prepare(await testConfig({ dataDirectory: unserved, databaseUrl: null }));
    for (const other of [served, unserved]) {
      const second = await migrateTo(url, other);
      expect([second.code, second.stderr]).toEqual([
        1,
        expect.stringContaining("Another data directory is being moved to that database."),
      ]);
    }
  });
});
