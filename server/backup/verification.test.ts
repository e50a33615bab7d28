import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environmentOf } from "../testing/engine.ts";
import { runTidings } from "../testing/server-process.ts";
import { testApp } from "../testing/test-app.ts";
import { CommandRunner } from "./command-runner.ts";
import { lastVerification } from "./last-verification.ts";
import { VerificationSchedule } from "./verification-schedule.ts";

test("the newest backup is restored every month to check it, and a failure is told and tried again", async () => {
  const place = mkdtempSync(join(tmpdir(), "tidings-verified-"));
  await using app = await testApp();
  const { store } = app.running;
  const errors: unknown[] = [];
  const told: string[] = [];
  let nowMs = Date.now();
  const schedule = new VerificationSchedule({
    store,
    config: { ...app.config, backupTo: place, backupVerifyDays: 30 },
    commands: new CommandRunner(app.config.dataDirectory),
    onError: (error) => errors.push(error),
    onInfo: () => told.push("verified"),
    onFailed: async (why) => void told.push(why),
    onVerified: async () => {},
    now: () => nowMs,
  });
  await schedule.look();
  expect(await lastVerification(store.control)).toBeNull();
  const environment = environmentOf(app.config);
  expect(await runTidings(["backup", "--to", place], environment)).toMatchObject({ code: 0 });
  await schedule.look();
  expect(errors).toEqual([]);
  expect(await lastVerification(store.control)).toMatchObject({
    ok: true,
    detail: expect.stringMatching(/^tidings-.*: \d+ events$/),
  });
  await schedule.look();
  expect(told).toEqual(["verified"]);

  const [name] = readdirSync(place);
  truncateSync(join(place, name!), 1_000);
  nowMs += 31 * 86_400_000;
  await schedule.look();
  expect(await lastVerification(store.control)).toMatchObject({ ok: false });
  expect(String(errors[0])).toContain("could not be restored to check it");
  expect(told).toHaveLength(2);
  await schedule.look();
  expect(told).toHaveLength(2);
  nowMs += 86_400_000;
  await schedule.look();
  expect(told).toHaveLength(3);
  schedule.close();
  rmSync(place, { recursive: true });
});
