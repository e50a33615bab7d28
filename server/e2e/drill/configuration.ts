import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../../..");
/** The configuration that docs/postgres.md describes. The drill runs these very files. */
export const folder = "deploy/postgres-failover";

export function configurationFile(name: string): string {
  return join(root, folder, name);
}

/** The variables in a file of `NAME=value` lines, as systemd reads it. */
export function readVariables(name: string): Record<string, string> {
  const lines = readFileSync(configurationFile(name), "utf8").split("\n");
  return Object.fromEntries(
    lines
      .filter((line) => line.includes("=") && !line.startsWith("#"))
      .map((line) => {
        const at = line.indexOf("=");
        return [line.slice(0, at), line.slice(at + 1)];
      }),
  );
}

export const databaseNames = ["db1", "db2", "db3"] as const;

/** The addresses of the nodes, from the Caddyfile. */
export function nodeAddresses(): string[] {
  const text = readFileSync(configurationFile("Caddyfile"), "utf8");
  return [...text.matchAll(/(\d+\.\d+\.\d+\.\d+):4242/g)].map(([, address]) => address!);
}

/** The address of a database machine, from its file. */
export function addressOf(database: (typeof databaseNames)[number]): string {
  return readVariables(`${database}.env`).PATRONI_RESTAPI_CONNECT_ADDRESS!.split(":")[0]!;
}
