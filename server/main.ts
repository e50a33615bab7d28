import { stdout } from "node:process";
import type { Logger } from "pino";
import { ConfigError, inspectConfig, readConfig, version } from "./config/config.ts";
import { ProblemError } from "./core/problems.ts";
import { createLog } from "./process/log.ts";
import { fewOpenFiles } from "./process/open-files.ts";
import { notifySystemd, startWatchdog } from "./process/systemd.ts";
import { fullVersion, programCommit } from "./process/version.ts";
import { type Running, serve } from "./serve.ts";

/** Runs the service as a process: prints its address, and drains on SIGTERM and SIGINT. */
export async function run(): Promise<void> {
  let running: Running | null = null;
  let isStopping = false;
  try {
    const config = readConfig();
    const log = await createLog(config.logLevel, config.logFormat);
    process.on("SIGHUP", () => changeLevel(log));
    process.on("uncaughtException", (error) => {
      log.fatal({ err: error }, "uncaught exception; stopping");
      process.exit(1);
    });
    process.on("unhandledRejection", (error) => log.error({ err: error }, "unhandled promise rejection"));
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, async () => {
        if (isStopping) return;
        isStopping = true;
        notifySystemd("STOPPING=1");
        process.exit(running ? await shutDown(running, signal, log) : 0);
      });
    }
    const fewFiles = fewOpenFiles();
    if (fewFiles) log.warn(fewFiles);
    running = await serve(config, { log });
  } catch (error) {
    console.error(error instanceof ConfigError ? error.message : `Tidings can't start: ${causeOf(error)}`);
    process.exit(1);
  }
  await announce(running);
  notifySystemd("READY=1");
  startWatchdog();
  // Frees the code that only the start needed, which is three megabytes.
  Bun.shrink();
}

/** What an operator has to know: a problem's own message is written for clients. */
function causeOf(error: unknown): string {
  if (!(error instanceof ProblemError)) return (error as Error).message;
  return (error.options.log as { message?: string } | undefined)?.message ?? error.options.detail;
}

/** Reads the log level again, which only a settings file can have changed. */
function changeLevel(log: Logger): void {
  const { config, mistakes } = inspectConfig();
  if (config) {
    log.level = config.logLevel;
    log.info({ logLevel: config.logLevel }, "read the log level again");
  } else log.error({ mistakes }, "the settings have mistakes; the log level stays");
}

/** Shuts down and returns the process's exit code. */
async function shutDown(running: Running, signal: string, log: Logger): Promise<number> {
  const startMs = performance.now();
  log.info({ signal }, "stopping: finishing requests in progress");
  try {
    await running.stop();
  } catch (error) {
    log.error({ err: error }, "shutdown failed");
    return 1;
  }
  log.info({ ms: Math.round(performance.now() - startMs) }, "stopped");
  return 0;
}

/** Prints the server's address whatever the log level: as text on a terminal, otherwise as log lines. */
async function announce({ address, baseUrl, metricsUrl, setupLink }: Running): Promise<void> {
  const listening = `Tidings ${fullVersion()} is listening on ${address}`;
  if (stdout.isTTY) {
    const nextStep = setupLink
      ? `\n  Open this link to create your account:\n\n  ${setupLink}\n`
      : `Dashboard: ${baseUrl}`;
    stdout.write(`${listening}\n${nextStep}\n`);
    return;
  }
  const log = await createLog("info", inspectConfig().config?.logFormat);
  if (setupLink) log.info({ setupLink }, "open setupLink to create your account");
  log.info(
    {
      version,
      commit: programCommit(),
      address,
      dashboard: baseUrl,
      ...(metricsUrl && { metrics: metricsUrl }),
    },
    listening,
  );
}

if (import.meta.main) await run();
