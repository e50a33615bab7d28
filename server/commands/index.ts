import { type CommandDef, defineCommand } from "citty";
import { version } from "../config/config.ts";
import { describeCommand } from "./describe-command.ts";

/** The `tidings` command line. Subcommands are loaded on demand. */
export const commandLine: CommandDef = defineCommand({
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
    job: () => import("./job.ts").then((module) => module.jobCommand),
    backup: () => import("./backup.ts").then((module) => module.backupCommand),
    doctor: () => import("./doctor.ts").then((module) => module.doctorCommand),
    healthcheck: () => import("./healthcheck.ts").then((module) => module.healthcheckCommand),
    restore: () => import("./restore.ts").then((module) => module.restoreCommand),
    rollback: () => import("./restore.ts").then((module) => module.rollbackCommand),
    upgrade: () => import("./upgrade.ts").then((module) => module.upgradeCommand),
    salvage: () => import("./salvage.ts").then((module) => module.salvageCommand),
    config: () => import("./config.ts").then((module) => module.configCommand),
    destination: () => import("./destination.ts").then((module) => module.destinationCommand),
    delivery: () => import("./delivery.ts").then((module) => module.deliveryCommand),
    heartbeat: () => import("./heartbeat.ts").then((module) => module.heartbeatCommand),
    "on-call": () => import("./on-call.ts").then((module) => module.onCallCommand),
    user: () => import("./user.ts").then((module) => module.userCommand),
    cohort: () => import("./cohort.ts").then((module) => module.cohortCommand),
    group: () => import("./group.ts").then((module) => module.groupCommand),
    rule: () => import("./rule.ts").then((module) => module.ruleCommand),
    silence: () => import("./silence.ts").then((module) => module.silenceCommand),
    alert: () => import("./alert.ts").then((module) => module.alertCommand),
    annotation: () => import("./annotation.ts").then((module) => module.annotationCommand),
    "migrate-to": () => import("./migrate-to.ts").then((module) => module.migrateToCommand),
    "leave-clickhouse": () => import("./leave-clickhouse.ts").then((module) => module.leaveClickHouseCommand),
    completion: () =>
      import("./completion.ts").then((module) =>
        module.completionCommand(() => describeCommand(commandLine)),
      ),
    version: () => import("./version.ts").then((module) => module.versionCommand),
    seed: () => import("./seed.ts").then((module) => module.seedCommand),
  },
});
