import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { addressOf, configurationFile, type databaseNames, readVariables } from "./configuration.ts";
import { Machine, processTree } from "./machine.ts";
import type { Program } from "./program.ts";

/** The size of the file system of a database machine: a run of 50 faults writes less than half of it. */
const diskMegabytes = 2_000;
const postgresDirectory = "/var/lib/postgresql";
const dataDirectory = `${postgresDirectory}/15/tidings`;
const ballast = `${postgresDirectory}/ballast`;

/** The passwords that docs/postgres.md has its readers make. */
export const passwords = {
  superuser: "superuser-of-the-drill",
  tidings: "tidings-of-the-drill",
  restApi: "rest-api-of-the-drill",
};
const secrets = {
  PATRONI_SUPERUSER_PASSWORD: passwords.superuser,
  PATRONI_REPLICATION_PASSWORD: "replication-of-the-drill",
  PATRONI_REWIND_PASSWORD: "rewind-of-the-drill",
  PATRONI_RESTAPI_PASSWORD: passwords.restApi,
};

/** A machine with etcd, Patroni and PostgreSQL. */
export class DatabaseMachine {
  readonly machine: Machine;
  readonly etcd: Program;
  readonly patroni: Program;

  private constructor(machine: Machine, environment: Record<string, string>, directory: string) {
    this.machine = machine;
    const asOwner = isRoot() ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] : [];
    const home = { HOME: postgresDirectory };
    this.etcd = machine.program("etcd", ["/usr/bin/etcd"], {
      ...environment,
      ETCD_DATA_DIR: `${directory}/etcd-${machine.name}`,
    });
    this.patroni = machine.program(
      "patroni",
      [...asOwner, "/usr/bin/patroni", configurationFile("patroni.yml")],
      { ...environment, ...home },
    );
  }

  static async start(name: (typeof databaseNames)[number], directory: string): Promise<DatabaseMachine> {
    const machine = await Machine.start(name, addressOf(name), `${directory}/logs`);
    const owner = isRoot() ? await machine.run(["id", "-u", "postgres"]) : `${process.getuid!()}`;
    const options = `size=${diskMegabytes}m,mode=0755,uid=${owner.trim()}`;
    for (const path of [postgresDirectory, "/run/postgresql"])
      await machine.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path]);
    const environment = { ...readVariables("cluster.env"), ...readVariables(`${name}.env`), ...secrets };
    mkdirSync(`${directory}/etcd-${name}`, { mode: 0o700 });
    const database = new DatabaseMachine(machine, environment, directory);
    database.etcd.start();
    database.patroni.start();
    return database;
  }

  get name(): string {
    return this.machine.name;
  }

  get address(): string {
    return this.machine.address;
  }

  /** The ids of PostgreSQL's processes, the first of which has started the others. */
  postgresProcesses(): number[] {
    const file = this.machine.path(`${dataDirectory}/postmaster.pid`);
    return processTree(Number(readFileSync(file, "utf8").split("\n")[0]));
  }

  /** The ids of the processes of PostgreSQL and Patroni. */
  processes(): number[] {
    return [...processTree(this.patroni.pid), ...this.postgresProcesses()];
  }

  fillDisk(): void {
    for (let bytes = 1_048_576; bytes >= 512; bytes /= 2) this.#fillBy(bytes);
  }

  #fillBy(bytes: number): void {
    const block = Buffer.alloc(bytes);
    try {
      for (;;) writeFileSync(this.machine.path(ballast), block, { flag: "a" });
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOSPC") throw error;
    }
  }

  freeDisk(): void {
    rmSync(this.machine.path(ballast), { force: true });
  }
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}
