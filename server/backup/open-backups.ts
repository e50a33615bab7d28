import type { Config } from "../config/config.ts";
import type { Store } from "../storage/store.ts";
import { CommandRunner } from "./command-runner.ts";
import type { LastBackup } from "./last-backup.ts";
import { BackupSchedule } from "./schedule.ts";
import { SegmentShipper } from "./segment-shipper.ts";
import { VerificationSchedule } from "./verification-schedule.ts";

type Subject = "backup" | "changes" | "verification";

type Deps = {
  store: Store;
  config: Config;
  /** Tells the owner that a part of the server stopped working, and that it works again. */
  outages: {
    begin: (subject: Subject, title: string, detail: string) => Promise<void>;
    end: (subject: Subject, title: string, detail: string) => Promise<void>;
  };
  onError: (error: unknown) => void;
  onInfo: (message: string, fields: Record<string, unknown>) => void;
  now: () => number;
};

/** Backups as they are configured: on schedule, and changes continuously. */
export function openBackups({ store, config, outages, ...watch }: Deps): {
  backups: BackupSchedule | null;
  shipper: SegmentShipper | null;
  verification: VerificationSchedule | null;
} {
  if (config.backupTo === null) return { backups: null, shipper: null, verification: null };
  const { control, segments } = store;
  const commands = new CommandRunner(config.dataDirectory);
  const backups = new BackupSchedule({
    control,
    config,
    commands,
    ...watch,
    generation: () => segments?.generation ?? null,
    onFailed: (why) => outages.begin("backup", "The backup failed", `${sentence(why)} It is tried again.`),
    onWorking: ({ at, file }: LastBackup) =>
      outages.end("backup", "Backups work again", `The last one is ${file}, of ${at}.`),
  });
  const verification = new VerificationSchedule({
    store,
    config,
    commands,
    ...watch,
    onFailed: (why) =>
      outages.begin(
        "verification",
        "A backup can't be restored",
        `${sentence(why)} Make one with "tidings backup" and check it with "tidings restore --check". It is tried again every day.`,
      ),
    onVerified: () =>
      outages.end("verification", "The backup can be restored", "The newest one was restored and checked."),
  });
  if (!segments) return { backups, shipper: null, verification };
  const shipper = new SegmentShipper({
    source: segments,
    config,
    ...watch,
    onBegun: () => void backups.look(),
    onFailed: (why) =>
      outages.begin(
        "changes",
        "Changes are not backed up",
        `${sentence(why)} What is recorded now can't be restored yet. It is tried again every minute.`,
      ),
    onWorking: () =>
      outages.end("changes", "Changes are backed up again", "The continuous backup is up to date."),
  });
  return { backups, shipper, verification };
}

function sentence(text: string): string {
  return text.replace(/\.?$/, ".");
}
