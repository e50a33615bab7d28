import pg from "pg";
import { databaseNames } from "./configuration.ts";
import { DatabaseMachine, passwords } from "./database-machine.ts";

/** A member as Patroni's REST API shows it (https://patroni.readthedocs.io/en/latest/rest_api.html). */
type Member = { name: string; role: string; lag?: number | "unknown" };

/** A standby that is behind by less has caught up: it receives what is written at the moment. */
const lagMaxBytes = 1_048_576;
const restMs = 1_500;

/** Three machines with PostgreSQL, of which one is the primary. */
export class DatabaseCluster {
  readonly machines: readonly DatabaseMachine[];

  private constructor(machines: DatabaseMachine[]) {
    this.machines = machines;
  }

  static async start(directory: string): Promise<DatabaseCluster> {
    const machines: DatabaseMachine[] = [];
    for (const name of databaseNames) machines.push(await DatabaseMachine.start(name, directory));
    return new DatabaseCluster(machines);
  }

  /** Creates the role, the database and the schema as docs/postgres.md does. */
  async createDatabase(): Promise<void> {
    const { address } = await this.primary();
    const connect = async (database: string) => {
      const user = `postgres:${passwords.superuser}`;
      const client = new pg.Client({ connectionString: `postgres://${user}@${address}/${database}` });
      await client.connect();
      return client;
    };
    const first = await connect("postgres");
    await first.query(`CREATE ROLE tidings LOGIN PASSWORD '${passwords.tidings}'`);
    await first.query("CREATE DATABASE tidings");
    await first.end();
    const second = await connect("tidings");
    await second.query("CREATE SCHEMA tidings AUTHORIZATION tidings");
    await second.query("ALTER ROLE tidings SET search_path = tidings");
    await second.end();
  }

  /** What the first machine that answers says of all members; empty if none does. */
  async members(): Promise<Member[]> {
    for (const { address } of this.machines) {
      const cluster = await ask<{ members: Member[] }>(address, "/cluster");
      if (cluster) return cluster.members;
    }
    return [];
  }

  async primary(): Promise<DatabaseMachine> {
    return this.#withRole(["leader"]);
  }

  /** The standby for which commits wait. */
  async synchronousStandby(): Promise<DatabaseMachine> {
    return this.#withRole(["sync_standby"]);
  }

  /** The machine whose etcd leads the others. */
  async etcdLeader(): Promise<DatabaseMachine> {
    for (const machine of this.machines) {
      const response = await fetch(`http://${machine.address}:2379/metrics`);
      if (/^etcd_server_is_leader 1$/m.test(await response.text())) return machine;
    }
    throw new Error("No etcd is the leader.");
  }

  /** Makes the synchronous standby the primary, as `patronictl switchover` does. */
  async switchOver(): Promise<void> {
    const [leader, candidate] = await Promise.all([this.primary(), this.synchronousStandby()]);
    const response = await fetch(`http://${leader.address}:8008/switchover`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`patroni:${passwords.restApi}`)}` },
      body: JSON.stringify({ leader: leader.name, candidate: candidate.name }),
    });
    if (!response.ok) throw new Error(`The switchover failed: ${await response.text()}`);
  }

  /** Why the cluster is not whole; null if it has a primary, and two standbys that have caught up. */
  async fault(): Promise<string | null> {
    const primaries: string[] = [];
    const timelines = new Set<number>();
    for (const { name, address } of this.machines) {
      // A machine that was cut off can still tell of the others what it knew before; of itself, it tells the truth.
      const status = await ask<{ state: string; role: string; timeline: number }>(address, "/patroni");
      if (status?.state !== "running") return `${name} is ${status?.state ?? "silent"}`;
      if (status.role !== "replica") primaries.push(address);
      timelines.add(status.timeline);
      const signal = AbortSignal.timeout(restMs);
      const etcd = await fetch(`http://${address}:2379/health`, { signal }).catch(() => null);
      if (!etcd?.ok) return `the etcd of ${name} is not healthy`;
    }
    if (primaries.length !== 1) return `there are ${primaries.length} primaries`;
    if (timelines.size > 1) return "not all are on the same timeline";
    const { members = [] } = (await ask<{ members: Member[] }>(primaries[0]!, "/cluster")) ?? {};
    if (members.length !== this.machines.length) return "not all are members";
    if (!members.some(({ role }) => role === "sync_standby")) return "no standby is synchronous";
    const late = members.find(({ lag = 0 }) => lag === "unknown" || lag > lagMaxBytes);
    return late ? `${late.name} is behind by ${late.lag} bytes` : null;
  }

  async #withRole(roles: readonly string[]): Promise<DatabaseMachine> {
    const member = (await this.members()).find(({ role }) => roles.includes(role));
    const machine = this.machines.find(({ name }) => name === member?.name);
    if (!machine) throw new Error(`No member is ${roles.join(" or ")}.`);
    return machine;
  }
}

/** Asks Patroni; null without an answer. It answers with 503, and the same body, if PostgreSQL is not running. */
async function ask<Body>(address: string, path: string): Promise<Body | null> {
  try {
    const response = await fetch(`http://${address}:8008${path}`, { signal: AbortSignal.timeout(restMs) });
    return (await response.json()) as Body;
  } catch {
    return null;
  }
}
