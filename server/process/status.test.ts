// @engines sqlite, postgres, clickhouse
// @long postgres
import { expect, test } from "bun:test";
import { version } from "../config/config.ts";
import type { ServerStatus } from "../schemas/server-status.ts";
import { callAs } from "../testing/account-calls.ts";
import { engine } from "../testing/engine.ts";
import { testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { programCommit } from "./version.ts";

test("the owner of the installation sees the server's status, and nobody else", async () => {
  await using app = await testApp();
  const cookie = await app.signIn();
  for (let n = 0; n < 3; n++) expect((await app.post({ channel: "a", name: "b" })).status).toBe(201);
  expect((await app.post({ channel: "a" })).status).toBe(422);
  const status = async () => (await callAs<ServerStatus>(app, "GET", "/api/status", { cookie })).body;
  // A rejected event is kept in a commit of its own.
  await until(async () => (await status()).recording.rejected === 1);
  expect(await status()).toMatchObject({
    ok: true,
    version,
    commit: programCommit(),
    database: {
      bytes: expect.any(Number),
      freeBytes: engine === "sqlite" ? expect.any(Number) : null,
      daysUntilFull: null,
    },
    olderEvents:
      engine === "clickhouse"
        ? { engine: "ClickHouse", failure: null, shipping: { failure: null, failedAttempts: 0 } }
        : null,
    recording: { commitMs: { p50: expect.any(Number), p99: expect.any(Number) }, waiting: 0, streams: 0 },
    notifying: { outbox: 0, deliveries: {}, failingDestinations: 0 },
    unfinishedJobs: 0,
    backup: { isScheduled: false, failure: null, last: null, changes: null, verified: null },
  });
  expect((await status()).recording.storedInMinute).toBeGreaterThanOrEqual(3);
  expect((await callAs(app, "GET", "/api/me", { cookie })).body).toMatchObject({ ownsInstallation: true });

  await app.addMember("other@example.com", "owner");
  const other = await app.signIn("other@example.com");
  expect(await callAs(app, "GET", "/api/status", { cookie: other })).toMatchObject({
    status: 403,
    body: { type: "/problems/role-insufficient" },
  });
  expect((await callAs(app, "GET", "/api/me", { cookie: other })).body).toMatchObject({
    ownsInstallation: false,
  });
  expect((await app.request("/api/status")).status).toBe(403);
});
