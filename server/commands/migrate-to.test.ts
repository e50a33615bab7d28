import type { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { openStore } from "../storage/open.ts";
import { databaseFile, openForReading, openForWriting } from "../storage/sqlite/open.ts";
import type { EventStore } from "../storage/store.ts";
import { expectPostgresConsistent } from "../testing/consistency-postgres.ts";
import { testWatch } from "../testing/engine.ts";
import { fillInstallation } from "../testing/installation.ts";
import { type TestDatabase, testDatabase } from "../testing/postgres.ts";
import { runTidings, spawnTidings, startServer } from "../testing/server-process.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import type { RefusedEvent } from "../wire/refused-event.ts";
import type { User } from "../wire/user.ts";

const events = 12_000;

const rooms: string[] = [];
const databases: TestDatabase[] = [];
let filled: { directory: string; key: string; otherKey: string; cookie: string };

beforeAll(async () => {
  const directory = newDirectory();
  const app = await testApp({ dataDirectory: directory, databaseUrl: null });
  const { otherKey } = await fillInstallation(app, events);
  filled = { directory, key: app.key, otherKey, cookie: await app.signIn() };
  await app.running.stop();
}, 60_000);

afterAll(async () => {
  for (const room of rooms) rmSync(room, { recursive: true, force: true });
  for (const database of databases) await database.drop();
}, 60_000);

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "tidings-move-"));
  rooms.push(directory);
  return directory;
}

/** A data directory of a test's own, with something of everything. */
function copyOfFilled(): string {
  const directory = newDirectory();
  cpSync(filled.directory, directory, { recursive: true });
  return directory;
}

async function newDatabase(): Promise<string> {
  const database = await testDatabase();
  databases.push(database);
  return database.url;
}

async function migrateTo(url: string, directory: string) {
  const ended = await runTidings(["migrate-to", url], { TIDINGS_DATA: directory });
  for (const text of [ended.stdout, ended.stderr]) expect(text).not.toContain(passwordOf(url) || "://");
  return ended;
}

async function expectMoved(url: string, directory: string): Promise<void> {
  const { code, stdout, stderr } = await migrateTo(url, directory);
  expect(`${code} ${code === 0 ? "" : stderr}`).toBe("0 ");
  for (const line of stdout.trimEnd().split("\n").slice(1)) expect(line).toEndWith("  the same");
}

function passwordOf(url: string): string {
  return URL.parse(url)?.password ?? "";
}

async function asked<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

function withSource<Result>(directory: string, work: (database: Database) => Result): Result {
  using database = openForReading(databaseFile(directory));
  return work(database);
}

/** Everything that a data directory holds. */
function contentOf(directory: string): unknown {
  return withSource(directory, (database) =>
    tablesOf(database).map((name) => [name, database.query(`SELECT * FROM ${name}`).values()]),
  );
}

function tablesOf(database: Database): string[] {
  return database
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'events_index*' AND name NOT GLOB 'sqlite_*' ORDER BY name",
    )
    .all()
    .map(({ name }) => name);
}

/** All events of a project as they arrived. */
async function arrivalsOf(store: EventStore, projectId: number) {
  const all: Awaited<ReturnType<EventStore["arrivedAfter"]>> = [];
  for (let after = { ms: 0, sequence: 0 }; ; after = all.at(-1)!.arrival) {
    const page = await store.arrivedAfter(projectId, after, 1_000);
    if (page.length === 0) return all;
    all.push(...page);
  }
}

describe("a data directory with something of everything", () => {
  let url: string;
  let ended: Awaited<ReturnType<typeof migrateTo>>;
  let before: unknown;
  beforeAll(async () => {
    url = await newDatabase();
    before = contentOf(filled.directory);
    ended = await migrateTo(url, filled.directory);
  }, 60_000);

  test("is moved, with a table that proves it and a last line that says how to go on", () => {
    expect(`${ended.code} ${ended.code === 0 ? "" : ended.stderr}`).toBe("0 ");
    const [head, ...lines] = ended.stdout.trimEnd().split("\n");
    expect(head).toMatch(/^ +rows {2}checksum +in PostgreSQL$/);
    for (const line of lines) expect(line).toMatch(/^\S.* [\d,]+ {2}[0-9a-f]{32} {2}the same$/);
    const rows = withSource(filled.directory, (database) => {
      const all = database.query<{ rows: number }, []>("SELECT count(*) AS rows FROM events").get()!.rows;
      const own = database
        .query<{ rows: number }, []>(
          "SELECT count(*) AS rows FROM events JOIN projects ON projects.id = project_id WHERE slug = 'default'",
        )
        .get()!.rows;
      return { all, own };
    });
    expect(rows.all).toBeGreaterThan(events);
    const counts = Object.fromEntries(
      lines.map((line) => /^(.+?) +([\d,]+) {2}[0-9a-f]{32}/.exec(line)!.slice(1, 3)),
    );
    expect(counts).toMatchObject({
      "events of default": rows.own.toLocaleString("en"),
      "idempotency keys": "2",
      "refused events": "4",
      accounts: "2",
      users: "1",
      jobs: "2",
    });
    expect(ended.stderr).toContain(`Events: ${rows.all.toLocaleString("en")} of `);
    expect(ended.stderr.trimEnd().split("\n").at(-1)).toContain("DATABASE_URL");
  });

  test("is left as it is", () => {
    expect(contentOf(filled.directory)).toEqual(before);
  });

  test("is what the database holds: index, counters, order of arrival, ids", async () => {
    // As a server does it, which ends the move.
    const there = await openStore({ dataDirectory: "", databaseUrl: url, databaseConnections: 3 }, testWatch);
    const here = await openStore(
      { dataDirectory: filled.directory, databaseUrl: null, databaseConnections: 1 },
      testWatch,
    );
    try {
      const projects = await here.control.selectFrom("projects").select("id").execute();
      expect(projects.length).toBe(3);
      for (const { id } of projects) {
        const arrivals = await arrivalsOf(here.events, id);
        expect(await arrivalsOf(there.events, id)).toEqual(arrivals);
        for (const { json } of arrivals.filter((_, n) => n % 37 === 0)) {
          expect(await there.events.find(id, JSON.parse(json).id)).toBe(json);
        }
        const filter = { tags: [["plan", "pro"] as [string, string]] };
        const listed = await here.events.page({ projectId: id, filter, order: "desc" }, 1_000);
        expect(await there.events.page({ projectId: id, filter, order: "desc" }, 1_000)).toEqual(listed);
      }
      expect(await there.events.lastArrival()).toEqual(await here.events.lastArrival());
      const notified = await asked<{ id: string }>(url, "SELECT id FROM events WHERE notified");
      const delivered = await here.control.selectFrom("deliveries").select("eventId").distinct().execute();
      expect(notified.map(({ id }) => id).toSorted()).toEqual(delivered.map((row) => row.eventId).toSorted());
      expect(notified.length).toBeGreaterThan(50);
    } finally {
      await here.close();
      await there.close();
    }
    const rows = withSource(filled.directory, (database) =>
      database.query<{ rows: number }, []>("SELECT count(*) AS rows FROM events").get(),
    )!.rows;
    expect(await expectPostgresConsistent(url)).toBe(rows);
  });

  test("goes on in a server: its keys, sessions, refused events, answers and numbers", async () => {
    const server = await startServer({ DATABASE_URL: url, TIDINGS_DATA: newDirectory() });
    const request = (path: string, init: RequestInit = {}) => fetch(server.address + path, init);
    try {
      const { cookie, key } = filled;
      expect((await request("/api/me", { headers: { cookie } })).status).toBe(200);
      const headers = { "x-api-key": key, "content-type": "application/json" };
      const once = await request("/api/events", {
        method: "POST",
        headers: { ...headers, "idempotency-key": "key 1" },
        body: '{"channel":"c","name":"once"}',
      });
      expect([once.status, once.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
      const refusals = await request("/api/events/refused", { headers });
      const { refused } = (await refusals.json()) as { refused: RefusedEvent[] };
      expect(refused.map(({ body }) => body)).toContain('{"channel":\0"💰');
      const { user } = (await (await request("/api/users/u%2F1", { headers })).json()) as { user: User };
      expect(JSON.stringify(user.properties)).toBe('{"__proto__":"kept","plan":"pro","seats":5,"note":null}');
      const posted = await request("/api/events", {
        method: "POST",
        headers,
        body: '{"channel":"c","name":"new","notify":true}',
      });
      expect(posted.status).toBe(201);
      const made = await request("/api/projects", {
        method: "POST",
        headers: { cookie, origin: server.address, "content-type": "application/json" },
        body: '{"name":"New"}',
      });
      expect(made.status).toBe(201);
    } finally {
      await server.end("SIGTERM");
    }
    const last = (sql: string) =>
      withSource(filled.directory, (database) => database.query(sql).values()[0]![0]);
    const [row] = await asked<{ project: number; delivery: number }>(
      url,
      "SELECT (SELECT max(id) FROM projects) AS project, (SELECT max(id)::integer FROM deliveries) AS delivery",
    );
    expect(row!.project).toBe(Number(last("SELECT seq FROM sqlite_sequence WHERE name = 'projects'")) + 1);
    expect(row!.delivery).toBeGreaterThan(
      Number(last("SELECT seq FROM sqlite_sequence WHERE name = 'deliveries'")),
    );
  }, 20_000);

  test("is not moved once more over what was done since", async () => {
    const { code, stderr } = await migrateTo(url, filled.directory);
    expect([code, stderr.split("\n").slice(1)]).toEqual([
      1,
      [
        "That database holds something already that was not moved there, or was worked on since. Give the address of an empty one.",
        "",
      ],
    ]);
  });
});

test("killed at any moment, it is completed by another run", async () => {
  const url = await newDatabase();
  const progress = async () => {
    const [{ is_there }] = (await asked<{ is_there: boolean }>(
      url,
      "SELECT to_regclass('channel_counters') IS NOT NULL AS is_there",
    )) as [{ is_there: boolean }];
    if (!is_there) return 0;
    const [row] = await asked<{ events: string }>(
      url,
      "SELECT coalesce(sum(events), 0) AS events FROM channel_counters",
    );
    return Number(row!.events);
  };
  const seen: number[] = [];
  for (let kill = 0; kill < 6; kill++) {
    const goal = (kill * events) / 7;
    const child = spawnTidings(["migrate-to", url], { TIDINGS_DATA: filled.directory }, "");
    if (kill === 0) await Bun.sleep(300);
    else while (child.exitCode === null && (await progress()) <= goal) await Bun.sleep(1);
    child.kill("SIGKILL");
    await child.exited;
    seen.push(await progress());
  }
  expect(new Set(seen).size).toBeGreaterThan(3);
  expect(seen.filter((count) => count > 0 && count < events).length).toBeGreaterThan(2);
  // No server takes a part for the whole.
  const early = await runTidings(["serve"], { DATABASE_URL: url, TIDINGS_DATA: newDirectory(), PORT: "0" });
  expect([early.code, early.stderr]).toEqual([
    1,
    "Tidings can't start: A data directory is being moved into this database, or was in part. Run tidings migrate-to again until it says that everything agrees.\n",
  ]);
  await expectMoved(url, filled.directory);
  await expectPostgresConsistent(url);
}, 60_000);

test("cut off from its database, and stopped from the keyboard, it says how to go on", async () => {
  const url = await newDatabase();
  const child = spawnTidings(["migrate-to", url], { TIDINGS_DATA: filled.directory }, "");
  const stderr = new Response(child.stderr).text();
  const count = "SELECT count(*)::integer AS events FROM events";
  for (;;) {
    const rows = await asked<{ events: number }>(url, count).catch(() => []);
    if (rows[0] && rows[0].events > 0) break;
  }
  await asked(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'tidings' AND datname = current_database()`,
  );
  expect([await child.exited, await stderr]).toEqual([
    1,
    expect.stringContaining("Run the same command again: it goes on where this one ended."),
  ]);
  expect(await stderr).not.toContain("    at ");

  const second = spawnTidings(["migrate-to", url], { TIDINGS_DATA: filled.directory }, "");
  const told = new Response(second.stderr).text();
  await Bun.sleep(400);
  second.kill("SIGINT");
  expect([await second.exited, await told]).toEqual([130, expect.stringContaining("Stopped. Run the same")]);
  await expectMoved(url, filled.directory);
  await expectPostgresConsistent(url);
}, 30_000);

test("a second run picks up what came and went since the first", async () => {
  const [url, directory] = [await newDatabase(), copyOfFilled()];
  await expectMoved(url, directory);
  const app = await reopened(directory);
  const request = (path: string, method: string, body?: unknown) =>
    app.request(
      path,
      {
        method,
        headers: { "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
      filled.key,
    );
  await request("/api/users/user%205", "DELETE");
  await request("/api/channels/channel%203", "DELETE");
  await Bun.sleep(500);
  await request("/api/events", "POST", { channel: "channel 3", name: "again" });
  await request("/api/events", "POST", { channel: "new", name: "later", notify: true });
  await request("/api/users/u%2F1", "PUT", { plan: "free" });
  await app.running.stop();
  await expectMoved(url, directory);
  await expectMoved(url, directory);
  await expectPostgresConsistent(url);
}, 60_000);

/** A server on a directory that is filled. */
async function reopened(dataDirectory: string): Promise<Pick<TestApp, "running" | "request">> {
  const { serve } = await import("../main.ts");
  const { testConfig } = await import("../testing/test-app.ts");
  const running = await serve(await testConfig({ dataDirectory, databaseUrl: null }));
  return {
    running,
    request: (path, init = {}, key) =>
      fetch(running.address + path, {
        ...init,
        headers: { ...(init.headers as Record<string, string>), "x-api-key": key! },
      }),
  };
}

describe("what does not agree is named, and ends with 1", () => {
  const cases: [name: string, change: string, says: RegExp][] = [
    [
      "an event that is another",
      "UPDATE events SET body = replace(body, 'Name', 'Nome') WHERE id = $1",
      /^events of .+: \d+ "[0-9a-f-]{36}" is another in PostgreSQL$/m,
    ],
    [
      "an event that is missing",
      "DELETE FROM events WHERE id = $1",
      /^events of .+: \d+ "[0-9a-f-]{36}" is not in PostgreSQL$/m,
    ],
    [
      "a count of a channel",
      "UPDATE channels SET events = events + 1 WHERE name = 'c' AND $1 <> ''",
      /^channels: 1 "c" is another in PostgreSQL$/m,
    ],
  ];
  for (const [name, change, says] of cases) {
    test(name, async () => {
      const url = await newDatabase();
      await expectMoved(url, filled.directory);
      const [event] = await asked<{ id: string }>(
        url,
        "SELECT id FROM events WHERE body LIKE '%\"Name %' ORDER BY id LIMIT 1",
      );
      await asked(url, change.replace("$1", `'${event!.id}'`));
      const { code, stdout, stderr } = await migrateTo(url, filled.directory);
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^(events of .+|channels) +[\d,]+ {2}[0-9a-f]{32} {2}[\d,]+ rows, [0-9a-f]{32}$/m,
      );
      expect(stderr).toMatch(says);
      expect(stderr).toContain("They do not agree");
    }, 30_000);
  }
});

describe("it refuses, and says why", () => {
  test("addresses that are none, without what may be a password", async () => {
    for (const address of [
      "nonsense secret",
      "mysql://me:secret@localhost/x",
      "postgres://me:secret@localhost",
    ]) {
      const { code, stdout, stderr } = await runTidings(["migrate-to", address], {
        TIDINGS_DATA: filled.directory,
      });
      expect(code).toBe(1);
      expect(stderr).toStartWith("The address must be an address such as postgres://");
      expect(stderr + stdout).not.toContain("secret");
    }
  });

  test("a database that does not answer, or not to this password", async () => {
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

  test("a directory without a database, and leaves it so", async () => {
    const directory = newDirectory();
    const { code, stderr } = await migrateTo(await newDatabase(), directory);
    expect([code, stderr]).toEqual([1, expect.stringContaining("TIDINGS_DATA names the directory")]);
    expect([...new Bun.Glob("*").scanSync(directory)]).toEqual([]);
  });

  test("a directory of a newer version", async () => {
    const directory = copyOfFilled();
    const database = openForWriting(databaseFile(directory));
    database.run("PRAGMA user_version = 999");
    database.close();
    const { code, stderr } = await migrateTo(await newDatabase(), directory);
    expect([code, stderr]).toEqual([1, expect.stringContaining("was written by a newer Tidings")]);
  });

  test("a directory with which a server works; and none starts while it is moved", async () => {
    const directory = copyOfFilled();
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
    expect([beside.code, beside.stderr]).toEqual([1, expect.stringContaining("locked")]);
    process.kill(child.pid, "SIGCONT");
    for (let read = await reader.read(); !read.done; read = await reader.read()) {}
    expect(await child.exited).toBe(0);
  }, 30_000);

  test("a database in which there is something, or another directory's half", async () => {
    const occupied = await newDatabase();
    const app = await testApp({ dataDirectory: newDirectory(), databaseUrl: occupied });
    await app.running.stop();
    const { code, stderr } = await migrateTo(occupied, filled.directory);
    expect([code, stderr]).toEqual([1, expect.stringContaining("Give the address of an empty one")]);

    const url = await newDatabase();
    await expectMoved(url, filled.directory);
    const other = newDirectory();
    await (await testApp({ dataDirectory: other, databaseUrl: null })).running.stop();
    const second = await migrateTo(url, other);
    expect([second.code, second.stderr]).toEqual([
      1,
      expect.stringContaining("Another data directory is being moved to that database."),
    ]);
  }, 30_000);
});

test("a database where a server was started and nobody did anything is taken for empty", async () => {
  const url = await newDatabase();
  await (await startServer({ DATABASE_URL: url, TIDINGS_DATA: newDirectory() })).end("SIGTERM");
  await expectMoved(url, filled.directory);
}, 30_000);

test("no table of the source is forgotten", async () => {
  const { tables } = await import("../storage/move/tables.ts");
  const made = ["events", "sent_ids", "counters", "channel_counters"];
  const known = [...tables.map(({ name }) => name), ...made, "leases"];
  expect(withSource(filled.directory, tablesOf)).toEqual(known.toSorted());
});
