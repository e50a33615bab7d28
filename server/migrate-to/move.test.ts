// @engines postgres
// @long
import type { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eventIdOf } from "../event/id.ts";
import { openStore } from "../process/open-store.ts";
import type { RejectedEvent } from "../schemas/rejected-event.ts";
import type { User } from "../schemas/user.ts";
import type { AcceptedEvent, EventStore } from "../storage/event-store.ts";
import { databaseFile, openForReading } from "../storage/sqlite/open.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { expectPostgresConsistent } from "../testing/consistency.ts";
import { testWatch } from "../testing/engine.ts";
import {
  clearMoves,
  expectMoved,
  fill,
  migrateTo,
  newDatabase,
  newDirectory,
  queryRows,
} from "../testing/moves.ts";
import { runTidings, startServer } from "../testing/server-process.ts";
import { prepare, testConfig } from "../testing/test-app.ts";
import { tables } from "./tables.ts";

/** Enough events to include every variation. */
const events = 1_500;

let filled: Awaited<ReturnType<typeof fill>>;
beforeAll(async () => {
  filled = await fill(events);
});
afterAll(clearMoves);

function withSource<Result>(directory: string, work: (database: Database) => Result): Result {
  using database = openForReading(databaseFile(directory));
  return work(database);
}

/** The content of a data directory. */
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

/** All events of a project in the order of arrival. */
async function arrivalsOf(store: EventStore, projectId: number) {
  const all: Awaited<ReturnType<EventStore["arrivedAfter"]>> = [];
  for (let after = { ms: 0, sequence: 0 }; ; after = all.at(-1)!.arrival) {
    const page = await store.arrivedAfter(projectId, after, 1_000);
    if (page.length === 0) return all;
    all.push(...page);
  }
}

describe("a data directory with something in every table", () => {
  let url: string;
  let ended: Awaited<ReturnType<typeof migrateTo>>;
  let before: unknown;
  beforeAll(async () => {
    url = await newDatabase();
    before = contentOf(filled.directory);
    ended = await migrateTo(url, filled.directory);
  });

  test("is moved, with a table that proves it and a last line that says how to continue", () => {
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
      "rejected events": "4",
      accounts: "3",
      invitations: "1",
      users: "1",
      "person ids": "1",
      jobs: "2",
    });
    expect(ended.stderr).toContain(`Events: ${rows.all.toLocaleString("en")} of `);
    expect(ended.stderr.trimEnd().split("\n").at(-1)).toContain("DATABASE_URL");
  });

  test("is left unchanged", () => {
    expect(contentOf(filled.directory)).toEqual(before);
  });

  test("has the same content as the database: index, counters, order of arrival, ids", async () => {
    // As a server does, which ends the move.
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
      const notified = await queryRows<{ id: string }>(url, "SELECT id FROM events WHERE notified");
      const delivered = await here.control.selectFrom("deliveries").select("eventId").distinct().execute();
      expect(notified.map(({ id }) => id).toSorted()).toEqual(
        delivered.map((row) => row.eventId!).toSorted(),
      );
      expect(notified.length).toBeGreaterThan(10);
    } finally {
      await here.close();
      await there.close();
    }
    const rows = withSource(filled.directory, (database) =>
      database.query<{ rows: number }, []>("SELECT count(*) AS rows FROM events").get(),
    )!.rows;
    expect(await expectPostgresConsistent(url)).toBe(rows);
  });

  test("continues in a server: its keys, sessions, rejected events, idempotent responses and ids", async () => {
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
      const rejections = await request("/api/events/rejected", { headers });
      const { rejected } = (await rejections.json()) as { rejected: RejectedEvent[] };
      expect(rejected.map(({ body }) => body)).toContain('{"channel":\0"💰');
      const { user } = (await (await request("/api/users/u%2F1", { headers })).json()) as { user: User };
      expect(JSON.stringify(user.properties)).toBe('{"__proto__":"kept","plan":"pro","seats":5,"note":null}');
      const visitor = (await (await request("/api/users/visitor", { headers })).json()) as { user: User };
      expect(visitor.user).toEqual(user);
      expect(user.ids.map(({ userId }) => userId)).toEqual(["u/1", "visitor"]);
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
    const [row] = await queryRows<{ project: number; delivery: number }>(
      url,
      "SELECT (SELECT max(id) FROM projects) AS project, (SELECT max(id)::integer FROM deliveries) AS delivery",
    );
    expect(row!.project).toBe(Number(last("SELECT seq FROM sqlite_sequence WHERE name = 'projects'")) + 1);
    expect(row!.delivery).toBeGreaterThan(
      Number(last("SELECT seq FROM sqlite_sequence WHERE name = 'deliveries'")),
    );
  });

  test("is not moved again over later changes", async () => {
    const { code, stderr } = await migrateTo(url, filled.directory);
    expect([code, stderr.split("\n").slice(1)]).toEqual([
      1,
      ["That database already contains other data, or was used since the move. Use an empty database.", ""],
    ]);
  });
});

test("a database in which a server was started but not used counts as empty", async () => {
  const url = await newDatabase();
  await (await startServer({ DATABASE_URL: url, TIDINGS_DATA: newDirectory() })).end("SIGTERM");
  await expectMoved(url, filled.directory);
});

test("the password can come from the environment", async () => {
  const address = new URL(await newDatabase());
  const { password } = address;
  address.password = "";
  const environment = { TIDINGS_DATA: filled.directory, PGPASSWORD: decodeURIComponent(password) };
  const { code, stderr } = await runTidings(["migrate-to", address.href], environment);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining(password)]);
});

test("events with the same arrival are moved, even more than fit in a batch", async () => {
  const place = { dataDirectory: newDirectory(), databaseUrl: null };
  await prepare(await testConfig(place));
  const store = await openStore({ ...place, databaseConnections: 1 }, testWatch);
  const startMs = Date.now() - 10_000;
  const events = Array.from({ length: 4_000 }, (_, n): AcceptedEvent => {
    const isShared = n >= 500 && n < 3_000;
    const arrival = { ms: startMs + (isShared ? 500 : n), sequence: 0 };
    const createdAtMs = startMs - 1_000_000 + n;
    const event = { id: eventIdOf({ ms: createdAtMs, sequence: n }) };
    return acceptedEvent({ projectId: 1, arrival, event, createdAtMs });
  });
  for (const result of await store.events.appendAll(events))
    expect(result).toMatchObject({ kind: "created" });
  await store.close();
  const url = await newDatabase();
  await expectMoved(url, place.dataDirectory);
  expect(await expectPostgresConsistent(url)).toBe(4_000);
});

test("no table of the source is forgotten", () => {
  const made = ["events", "sent_ids", "counters", "channel_counters", "uncounted"];
  made.push("blocks", "block_tokens", "block_timestamps", "block_columns", "late_events", "unsorted_ms");
  made.push("body_groups", "removed_bodies", "user_activity", "user_activity_positions", "property_changes");
  const known = [...tables.map(({ name }) => name), ...made, "leases"];
  expect(withSource(filled.directory, tablesOf)).toEqual(known.toSorted());
});
