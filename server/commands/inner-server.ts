import { readConfig } from "../config/config.ts";
import { createLog } from "../process/log.ts";
import { type Running, serve } from "../serve.ts";

/** Runs a server for one command, which nobody else knows of, and which starts nothing by itself. */
export async function startInnerServer(): Promise<Running> {
  const config = readConfig();
  return serve(
    { ...config, host: "127.0.0.1", port: 0, backupTo: null, metricsAddress: null, shutdownDelaySeconds: 0 },
    { log: await createLog("silent"), isPassive: true },
  );
}
