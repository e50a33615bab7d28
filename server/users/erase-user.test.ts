// @engines sqlite, postgres, clickhouse
// @long postgres
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Event } from "../event/event.ts";
import { databaseFile } from "../storage/sqlite/directory.ts";
import { expectConsistent } from "../testing/consistency.ts";
import { engine } from "../testing/engine.ts";
import { longTest } from "../testing/long-test.ts";
import { spawnTidings, testProcess } from "../testing/server-process.ts";
import { openTestStore, type TestApp, testApp } from "../testing/test-app.ts";
import { tracesOf } from "../testing/traces.ts";
import { until, untilJobDone } from "../testing/until.ts";
import { bodyNamesUser } from "./erase-user.ts";

const userId = "Zoë.Quux+77@example.com";
/** The id in UTF-8, and as in the index. */
const traces = [userId, "_5aoë_2e_51uux_2b77_40example_2ecom", "Quux", "51uux"];

const erase = (app: Pick<TestApp, "request">, id = userId) =>
  app.request(`/api/users/${encodeURIComponent(id)}`, { method: "DELETE" });

async function expectNoTrace(app: Pick<TestApp, "config">): Promise<void> {
  for (const trace of traces) expect([trace, await tracesOf(app.config, trace)]).toEqual([trace, ""]);
}

async function postMany(app: TestApp, count: number, event: (n: number) => object): Promise<Event[]> {
  const answers = await Promise.all(Array.from({ length: count }, (_, n) => app.post(event(n))));
  return Promise.all(
    answers.map(async (answer) => {
      if (answer.status !== 201) throw new Error(await answer.text());
      return ((await answer.json()) as { event: Event }).event;
    }),
  );
}

test("after an erasure, nothing contains the user's id, and everything else remains", async () => {
  await using app = await testApp();
  const dayMs = 86_400_000;
  const dated = (n: number) => n % 5 === 0 && { createdAt: Date.now() - ((n * 7_919) % (30 * dayMs)) };
  const others: Event[] = [];
  for (let round = 0; round < 6; round++) {
    const mixed = await postMany(app, 400, (n) => ({
      channel: `c${n % 3}`,
      name: `Name ${n % 7}`,
      userId: n % 4 === 0 ? userId : `user ${n % 11}`,
      notify: n % 50 === 0,
      tags: { plan: n % 2 ? "pro" : "free", ...(n % 4 === 0 && { email: userId }) },
      ...(n % 4 === 0 && { description: `Written by ${userId}` }),
      ...dated(n + round * 400),
      ...(n % 9 === 0 && { id: Bun.randomUUIDv7() }),
    }));
    others.push(...mixed.filter((event) => event.userId !== userId));
  }
  const copies = engine === "sqlite" ? 1 : 0;
  if (copies > 0)
    writeFileSync(join(app.config.dataDirectory, "tidings.db.before-1"), `A copy with ${userId}`);
  // What moved to ClickHouse has no escaped tokens there.
  for (const trace of engine === "clickhouse" ? [userId, "Quux"] : traces)
    expect(await tracesOf(app.config, trace)).not.toBe("");

  let isErased = false;
  const ingest = (async () => {
    for (let n = 0; !isErased; n++)
      others.push(
        ...(await postMany(app, 8, () => ({ channel: "live", name: `n${n % 5}`, userId: "live" }))),
      );
  })();
  const job = await untilJobDone(app, await erase(app));
  await expectNoTrace(app).finally(() => {
    isErased = true;
  });
  await ingest;
  expect(job).toMatchObject({
    kind: "erase-user",
    done: 600,
    total: 600,
    receipt: { erasedEvents: 600, erasedCopies: copies },
  });
  expect(JSON.stringify(job)).not.toContain("Quux");

  const byId = (a: Event, b: Event) => (a.id < b.id ? -1 : 1);
  const same = async (query: string, holds: (event: Event) => boolean) =>
    expect((await app.list(query)).toSorted(byId)).toEqual(others.filter(holds).toSorted(byId));
  await same("", () => true);
  await same("?channel=c1", (event) => event.channelId === "c1");
  await same("?userId=user%203", (event) => event.userId === "user 3");
  await same("?name=Name%202", (event) => event.name === "Name 2");
  await same("?tag.plan=pro", (event) => event.tags.plan === "pro");
  await same("?notify=true", (event) => event.notify);
  expect(await app.list(`?userId=${encodeURIComponent(userId)}`)).toEqual([]);
  await expectConsistent(app.config);
}, 600_000);

test("the user's rejected events, stored responses and properties are removed, others' remain", async () => {
  await using app = await testApp();
  const store = await openTestStore(app.config);
  const { control } = store;
  const { id: projectId } = await control.selectFrom("projects").select("id").executeTakeFirstOrThrow();
  const rejected = (body: string) =>
    store.events.keepRejected(
      [{ projectId, keyId: null, body, cut: false, problem: "{}", reason: "", rejectedAt: Date.now() }],
      { events: 1_000, ms: 86_400_000 },
    );
  await rejected(JSON.stringify({ userId, name: "" }));
  await rejected('{"user_id":"Zo\\u00eb.Quux+77@example.com"}');
  await rejected(`{"userId":"${userId}","na`);
  await rejected(JSON.stringify({ userId: "another", name: "" }));
  const stored = (key: string, template: unknown, results: unknown[]) =>
    control
      .insertInto("idempotencyKeys")
      .values({
        projectId,
        key,
        bodyHash: "hash",
        responseTemplate: JSON.stringify(template),
        results: JSON.stringify(results),
        createdAt: 1,
      })
      .execute();
  const created = { kind: "created" };
  await stored("a", { userId, name: "" }, [created]);
  await stored(
    "b",
    ["id", { code: "body-invalid", options: { detail: `"${userId}" does not fit.` } }],
    [created],
  );
  await stored("c", ["id"], [{ kind: "duplicate", json: JSON.stringify({ userId, name: "" }) }]);
  await stored("d", { userId: "another", name: "" }, [created]);
  await stored("e", ["id"], [created]);
  for (const id of [userId, "another"]) {
    await control
      .insertInto("users")
      .values({ projectId, userId: id, properties: "{}", updatedAt: 1 })
      .execute();
  }
  const { receipt } = await untilJobDone(app, await erase(app));
  expect(receipt).toMatchObject({
    erasedEvents: 0,
    erasedRejectedEvents: 3,
    erasedResponses: 3,
    erasedProfiles: 1,
    erasedCopies: 0,
  });
  const left = async (table: "rejectedEvents" | "idempotencyKeys" | "users") =>
    (await control.selectFrom(table).select("projectId").execute()).length;
  expect([await left("rejectedEvents"), await left("idempotencyKeys"), await left("users")]).toEqual([
    1, 2, 1,
  ]);
  await store.close();
  await expectNoTrace(app);
});

test("answers of destinations that repeat the user's id are removed, others remain", async () => {
  await using app = await testApp();
  const { control } = app.running.store;
  const failures = [`The webhook answered 400: no user ${userId}`, "The webhook answered 500."];
  for (const [n, failure] of failures.entries()) {
    const response = await app.request("/api/project-destinations", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ kind: "ntfy", name: `${n}`, settings: { topic: "t" } }),
    });
    expect(response.status).toBe(201);
    await control.updateTable("destinations").set({ failure }).where("name", "=", `${n}`).execute();
  }
  await untilJobDone(app, await erase(app));
  const rows = await control
    .selectFrom("destinations")
    .select("failure")
    .where("projectId", "is not", null)
    .orderBy("name")
    .execute();
  expect(rows).toEqual([{ failure: null }, { failure: failures[1]! }]);
  await expectNoTrace(app);
});

test("an interrupted erasure continues after a restart, and counts every event once", async () => {
  await using app = await testApp();
  await postMany(app, 500, (n) => ({ channel: "c", name: "n", userId: n % 2 ? userId : "other" }));
  const { job } = (await (await erase(app)).json()) as { job: { id: string } };
  await app.restart();
  const again = await app.request(`/api/jobs/${job.id}`);
  const { receipt } = await untilJobDone(app, new Response(again.body, { status: 202 }));
  expect(receipt!.erasedEvents).toBe(250);
  expect(await app.list()).toHaveLength(250);
  await expectNoTrace(app);
});

const onSqlite = engine === "sqlite";

test.skipIf(!onSqlite)("what killed commands left of the database is removed", async () => {
  await using app = await testApp();
  const { dataDirectory } = app.config;
  // One of an earlier version has no lock.
  for (const name of ["scratch-a", "scratch-b", "replaced-20260101T000000000Z"])
    mkdirSync(join(dataDirectory, name));
  for (const path of [
    "scratch-a/copy.db",
    "scratch-a/lock",
    "scratch-b/archive",
    "replaced-20260101T000000000Z/tidings.db",
    "tidings.db.before-9-journal",
  ])
    writeFileSync(join(dataDirectory, path), path.endsWith("lock") ? "" : `A copy with ${userId}`);
  const { receipt } = await untilJobDone(app, await erase(app));
  expect(receipt).toMatchObject({ erasedCopies: 4 });
  await expectNoTrace(app);
});

describe.skipIf(!onSqlite)("copies of commands that are killed", () => {
  /** A store that accepts connections and never answers. */
  async function withSilentStore(
    work: (environment: Record<string, string>) => Promise<void>,
  ): Promise<void> {
    using server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    await work({
      TIDINGS_S3_ENDPOINT: `http://127.0.0.1:${server.port}`,
      TIDINGS_S3_REGION: "us-east-1",
      TIDINGS_S3_ACCESS_KEY_ID: "a",
      TIDINGS_S3_SECRET_ACCESS_KEY: "b",
    });
    server.stop(true);
  }

  const scratchFiles = (dataDirectory: string) =>
    [...new Bun.Glob("scratch-*/*").scanSync(dataDirectory)].join();

  /** Lets a restore of this database take for ever once it has copied it: a check of a constraint has no end. */
  function takeLongToCheck(file: string): void {
    using database = new Database(file);
    database.run("CREATE TABLE slow (text TEXT CHECK (text NOT LIKE '%a%a%a%a%a%a%a%a%b'))");
    database.run("PRAGMA ignore_check_constraints = ON");
    database.run("INSERT INTO slow VALUES (?)", ["a".repeat(10_000)]);
  }

  longTest("an erasure removes those of dead ones, and waits for a running one", async () => {
    await using app = await testProcess();
    const { dataDirectory } = app.config;
    const record = async () => {
      const events = Array.from({ length: 3_000 }, (_, n) => ({
        channel: "c",
        name: "n",
        userId: n % 2 ? userId : "other",
      }));
      expect((await app.post(events)).status).toBe(201);
    };
    const begin = async () => {
      const { job } = (await (await erase(app)).json()) as { job: { id: string } };
      return async () =>
        ((await (await app.request(`/api/jobs/${job.id}`)).json()) as { job: { state: string } }).job.state;
    };
    await withSilentStore(async (s3) => {
      const backUp = async () => {
        const child = spawnTidings(
          ["backup", "--to", "s3://backups/tidings"],
          { ...app.environment, ...s3 },
          "",
        );
        await until(() => scratchFiles(dataDirectory).includes(".zst"));
        return child;
      };
      const kill = async (child: Bun.Subprocess) => {
        child.kill("SIGKILL");
        await child.exited;
      };
      await record();
      await app.end("SIGTERM");
      const copy = join(mkdtempSync(join(tmpdir(), "tidings-copy-")), "copy.db");
      // Not a copy of the file: if something read it when the server stopped, the latest events are in the log alone.
      new Database(databaseFile(dataDirectory)).run("VACUUM INTO ?", [copy]);
      takeLongToCheck(copy);
      const restoring = spawnTidings(["restore", copy], app.environment, "");
      await until(() => /scratch-\w+\/tidings\.db/.test(scratchFiles(dataDirectory)));
      await kill(restoring);
      expect(await tracesOf(app.config, userId)).toMatch(/scratch-\w+\/archive/);
      await app.start();
      const stateAfterRestore = await begin();
      await until(async () => (await stateAfterRestore()) === "done");
      await expectNoTrace(app);

      await record();
      await kill(await backUp());
      expect(await tracesOf(app.config, userId)).toMatch(/scratch-\w+\/copy\.db/);
      const stateAfterBackup = await begin();
      await until(async () => (await stateAfterBackup()) === "done");
      await expectNoTrace(app);

      await record();
      const running = await backUp();
      const state = await begin();
      // Everything else is clean, so it waits.
      await until(async () => /^\S+scratch-\w+\/copy\.db\n$/.test(await tracesOf(app.config, "51uux")));
      expect(await state()).toBe("cleaning");
      await kill(running);
      await until(async () => (await state()) === "done");
      await expectNoTrace(app);
    });
  });
});

test("recognizes the user in a rejected body", () => {
  for (const body of [
    '{"userId":"u1"}',
    '{"user_id":"u1"}',
    '{"userId":"u1","user_id":2}',
    '{"userId":"u1","userId":"u2"}',
    '{"userId" : "u1", "userId":7}',
    '{"userId":"u1',
  ]) {
    expect(bodyNamesUser(body, "u1")).toBe(true);
  }
  expect(bodyNamesUser('{"userId":7}', "7")).toBe(true);
  for (const body of [
    '{"user":"u1"}',
    '{"userid":"u1"}',
    '{"user":{"ids":[0,"u1"]}}',
    '{"__proto__":"u1"}',
    '[{"event":"n","distinct_id":"u1"}]',
    '[7,null,{"properties":{"distinct_id":"u1"}}]',
  ]) {
    expect(bodyNamesUser(body, "u1")).toBe(true);
  }
  expect(bodyNamesUser('{"tags":{"friend":"u1"}}', "u1")).toBe(false);
  expect(bodyNamesUser('{"userId":"a\\"b', 'a"b')).toBe(true);
  for (const body of ['{"name":"u1"}', '{"userId":"u11"}', "null", "[]", '"u1"', '{"userId":"u']) {
    expect(bodyNamesUser(body, "u1")).toBe(false);
  }
});
