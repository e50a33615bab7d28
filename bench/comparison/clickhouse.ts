import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { acceptsConnections, freePort, root, run, startServer, stop } from "../processes.ts";

/** npm's build of ClickHouse. It is not among the benchmark's packages because of its size. */
const chdb = "3.4.0";
const packages = join(root, "node_modules/.cache/tidings-clickhouse");

/** Starts ClickHouse, and installs it on the first run (566 MB). Rejects where npm has no build for this machine. */
export async function startClickHouse(
  folder: string,
): Promise<{ url: string; version: string; stop: () => Promise<void> }> {
  if (!existsSync(join(packages, "node_modules/chdb"))) {
    console.error("Installing ClickHouse from npm, once (566 MB) …");
    await mkdir(packages, { recursive: true });
    await Bun.write(join(packages, "package.json"), '{ "private": true }\n');
    await run({ command: ["npm", "install", "--no-audit", "--no-fund", `chdb@${chdb}`], cwd: packages });
  }
  const port = freePort();
  const script = "server/testing/clickhouse-server.mjs";
  const command = ["node", script, `${port}`, join(folder, "clickhouse"), packages];
  const server = await startServer(port, { command }, acceptsConnections);
  const url = `http://127.0.0.1:${port}`;
  const response = await fetch(url, { method: "POST", body: "SELECT version()" });
  return { url, version: (await response.text()).trim(), stop: () => stop(server) };
}
