#!/usr/bin/env bun
import { defineCommand, runMain } from "citty";
import { version } from "../config.ts";

/** The `tidings` command line. Subcommands are loaded on demand. */
const main = defineCommand({
  meta: {
    name: "tidings",
    version,
    description:
      "A self-hosted event tracker. Without a command, it runs the server. Set TIDINGS_DATA to the data directory.",
  },
  subCommands: {
    serve: () =>
      import("../main.ts").then(({ run }) =>
        defineCommand({ meta: { name: "serve", description: "Run the server" }, run }),
      ),
    log: () => import("./log.ts").then((module) => module.logCommand),
    tail: () => import("./tail.ts").then((module) => module.tailCommand),
    list: () => import("./list.ts").then((module) => module.listCommand),
    stats: () => import("./stats.ts").then((module) => module.statsCommand),
    import: () => import("./import.ts").then((module) => module.importCommand),
    export: () => import("./export.ts").then((module) => module.exportCommand),
    channel: () => import("./channel.ts").then((module) => module.channelCommand),
    account: () => import("./account.ts").then((module) => module.accountCommand),
    project: () => import("./project.ts").then((module) => module.projectCommand),
    key: () => import("./key.ts").then((module) => module.keyCommand),
    backup: () => import("./backup.ts").then((module) => module.backupCommand),
    doctor: () => import("./doctor.ts").then((module) => module.doctorCommand),
    healthcheck: () => import("./healthcheck.ts").then((module) => module.healthcheckCommand),
    restore: () => import("./restore.ts").then((module) => module.restoreCommand),
    rollback: () => import("./restore.ts").then((module) => module.rollbackCommand),
    config: () => import("./config.ts").then((module) => module.configCommand),
    destination: () => import("./destination.ts").then((module) => module.destinationCommand),
    delivery: () => import("./delivery.ts").then((module) => module.deliveryCommand),
    rule: () => import("./rule.ts").then((module) => module.ruleCommand),
    "migrate-to": () => import("./migrate-to.ts").then((module) => module.migrateToCommand),
    seed: () => import("./seed.ts").then((module) => module.seedCommand),
  },
});

// The server's own process (`storage/sqlite/residue-scan.ts`), not a command for people.
const [command, file] = process.argv.slice(2);
if (command === "scan-residue" && file !== undefined) {
  const { scanResidue } = await import("../storage/sqlite/residue-scan.ts");
  await scanResidue(file);
} else {
  // Without a command, the server starts, as people expect of `npx tidings`.
  await runMain(main, { rawArgs: command === undefined ? ["serve"] : process.argv.slice(2) });
}
