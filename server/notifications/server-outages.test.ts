// @long
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { CommandRunner } from "../backup/command-runner.ts";
import { BackupSchedule } from "../backup/schedule.ts";
import type { Notification } from "../schemas/notification.ts";
import { smtpInbox } from "../testing/smtp-inbox.ts";
import { testApp } from "../testing/test-app.ts";
import { DiskWatch } from "./disk-watch.ts";
import { ServerOutages } from "./server-outages.ts";

const hourMs = 3_600_000;

test("the owner is told once of a backup that fails, and once that backups work again", async () => {
  const place = mkdtempSync(join(tmpdir(), "tidings-outages-"));
  const backupTo = join(place, "backups");
  writeFileSync(backupTo, "in the way");
  const inbox = await smtpInbox();
  await using app = await testApp({ backupTo, smtpUrl: inbox.url }, Date.now, pino({ enabled: false }));
  process.env.TIDINGS_SECRET_KEY = app.config.secretKey!;
  await app.addMember("other@example.com", "owner");
  const notifications = async (cookie: string): Promise<Notification[]> => {
    const response = await app.request("/api/notifications", { headers: { cookie } });
    return ((await response.json()) as { notifications: Notification[] }).notifications;
  };
  const owner = await app.signIn();

  // The server tries at its start.
  const { to, subject, text } = await inbox.next();
  expect([to, subject]).toEqual([
    ["owner@example.com"],
    `The backup failed · ${new URL(app.running.baseUrl).host}`,
  ]);
  expect(text).toContain(`The backup to ${backupTo} failed: `);
  expect(text).toContain("/status");
  expect(await notifications(owner)).toMatchObject([
    { type: "server-notice", title: "The backup failed", url: "/status", event: null, readAt: null },
  ]);

  const { control } = app.running.store;
  let nowMs = Date.now();
  const errors: unknown[] = [];
  const outages = new ServerOutages({ control, hasEmail: false, onMade: () => {}, now: () => nowMs });
  const schedule = new BackupSchedule({
    control,
    config: app.config,
    commands: new CommandRunner(app.config.dataDirectory),
    onError: (error) => errors.push(error),
    onInfo() {},
    onFailed: (why) => outages.begin("backup", "The backup failed", why),
    onWorking: () => outages.end("backup", "Backups work again", "."),
    now: () => nowMs,
  });
  const titles = async () => (await notifications(owner)).map(({ title }) => title);
  await schedule.look();
  expect(errors).toHaveLength(1);
  expect(await titles()).toEqual(["The backup failed"]);
  rmSync(backupTo);
  nowMs += 2 * hourMs;
  await schedule.look();
  expect(await titles()).toEqual(["Backups work again", "The backup failed"]);
  nowMs += 100 * hourMs;
  await schedule.look();
  expect(await titles()).toHaveLength(2);
  expect(await notifications(await app.signIn("other@example.com"))).toEqual([]);
  schedule.close();
  await inbox.close();
  rmSync(place, { recursive: true });
});

test("the owner is told once of a disk that is nearly full, and once that it has space again", async () => {
  await using app = await testApp();
  const { control } = app.running.store;
  const outages = new ServerOutages({ control, hasEmail: false, onMade: () => {}, now: Date.now });
  let isLow = true;
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const watch = new DiskWatch({
    dataDirectory: app.config.dataDirectory,
    outages,
    onError,
    isLow: () => isLow,
  });
  const told = async () => {
    const rows = await control.selectFrom("deliveries").select("notification").orderBy("id").execute();
    return [...new Set(rows.map(({ notification }) => JSON.parse(notification!).title))];
  };
  await watch.look();
  await watch.look();
  expect(await told()).toEqual(["The disk is nearly full"]);
  expect(await outages.beganMs("disk")).not.toBeNull();
  isLow = false;
  await watch.look();
  await watch.look();
  expect(await told()).toEqual(["The disk is nearly full", "The disk has space again"]);
  expect(errors).toEqual([]);
  watch.close();
});
