import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configurationFile, nodeAddresses } from "./configuration.ts";
import { DatabaseCluster } from "./database-cluster.ts";
import { isRoot, passwords } from "./database-machine.ts";
import { loadAddress, Machine } from "./machine.ts";
import type { Program } from "./program.ts";

const tidings = join(import.meta.dir, "../../commands/tidings.ts");
const balancerAddress = "10.0.0.10";
const probeMs = 3_000;
/** How long everything may take to be whole again after a fault. */
const recoveryMs = 180_000;

/** A machine with a Tidings node, and the HAProxy through which it reaches the primary. */
export type NodeMachine = { machine: Machine; node: Program; proxy: Program; address: string };

/** Everything that docs/postgres.md describes: database machines, nodes, and Caddy in front of these. */
export class Installation {
  readonly databases: DatabaseCluster;
  readonly nodes: readonly NodeMachine[];
  readonly balancer: Program;
  /** Where clients reach it. */
  readonly address = `http://${balancerAddress}`;
  readonly apiKey: string;

  private constructor(databases: DatabaseCluster, nodes: NodeMachine[], balancer: Program, apiKey: string) {
    this.databases = databases;
    this.nodes = nodes;
    this.balancer = balancer;
    this.apiKey = apiKey;
  }

  static async start(directory: string): Promise<Installation> {
    const databases = await DatabaseCluster.start(directory);
    await until(() => databases.fault());
    await databases.createDatabase();

    const nodes: NodeMachine[] = [];
    for (const [index, address] of nodeAddresses().entries())
      nodes.push(await startNodeMachine(`app${index + 1}`, address, directory));
    const apiKey = await createKey(nodes[0]!.machine, directory);
    for (const { node } of nodes) node.start();

    const machine = await Machine.start("balancer", balancerAddress, `${directory}/logs`);
    const caddyfile = configurationFile("Caddyfile");
    const balancer = machine.program(
      "caddy",
      ["/usr/bin/caddy", "run", "--config", caddyfile, "--adapter", "caddyfile"],
      {
        SITE: `http://${balancerAddress}`,
        HOME: directory,
        XDG_CONFIG_HOME: directory,
        XDG_DATA_HOME: directory,
      },
    );
    balancer.start();
    const installation = new Installation(databases, nodes, balancer, apiKey);
    await installation.untilWhole();
    return installation;
  }

  /** The connection string of the primary, for checks beside the nodes. */
  async databaseUrl(): Promise<string> {
    const { address } = await this.databases.primary();
    return `postgres://tidings:${passwords.tidings}@${address}/tidings`;
  }

  /** Waits until every part works again. */
  untilWhole(): Promise<void> {
    return until(async () => (await this.databases.fault()) ?? (await this.#faultOfNodes()));
  }

  async #faultOfNodes(): Promise<string | null> {
    const addresses = [...this.nodes.map(({ address }) => address), this.address];
    for (const address of addresses) {
      const response = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(probeMs) }).catch(
        () => null,
      );
      if (!response?.ok) return `${address}/readyz answers ${response ? response.status : "nothing"}`;
    }
    return null;
  }
}

async function startNodeMachine(name: string, address: string, directory: string): Promise<NodeMachine> {
  const machine = await Machine.start(name, address, `${directory}/logs`);
  const data = `${directory}/data-${name}`;
  mkdirSync(data, { mode: 0o700 });
  const proxy = machine.program(
    "haproxy",
    ["/usr/sbin/haproxy", "-db", "-f", proxyConfiguration(directory)],
    {},
  );
  proxy.start();
  const node = machine.program("tidings", [process.execPath, tidings, "serve"], {
    ...nodeEnvironment,
    TIDINGS_DATA: data,
    HOST: "0.0.0.0",
    TIDINGS_URL: `http://${balancerAddress}`,
    TRUSTED_PROXIES: balancerAddress,
    // What docs/settings.md recommends behind a load balancer.
    TIDINGS_SHUTDOWN_DELAY: "5",
    // The webhook's receiver has one.
    TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true",
  });
  return { machine, node, proxy, address: `http://${address}:4242` };
}

/** The configuration of HAProxy. Only root can become the user that it names, so without root, it names none. */
function proxyConfiguration(directory: string): string {
  const file = configurationFile("haproxy.cfg");
  if (isRoot()) return file;
  const copy = `${directory}/haproxy.cfg`;
  writeFileSync(copy, readFileSync(file, "utf8").replace(/^ {2}(?:user|group) .*\n/gm, ""));
  return copy;
}

/** What nodes and commands share. */
const nodeEnvironment = {
  DATABASE_URL: `postgres://tidings:${passwords.tidings}@127.0.0.1:5000/tidings`,
  TIDINGS_SECRET_KEY: "A".repeat(43),
};

/** Creates the first account and a key of its project, with the program's own commands. */
async function createKey(machine: Machine, directory: string): Promise<string> {
  const data = `${directory}/data-commands`;
  mkdirSync(data, { mode: 0o700 });
  const variables = Object.entries({ ...nodeEnvironment, TIDINGS_DATA: data }).map((pair) => pair.join("="));
  const run = (parameters: string[], input: string) =>
    machine.run(["env", ...variables, process.execPath, tidings, ...parameters], input);
  await run(
    ["account", "create", "--email", "drill@example.com", "--password-stdin"],
    "password of the drill",
  );
  const scopes = ["--scopes", "ingest,read,manage"];
  return (await run(["key", "create", "--project", "default", "--name", "drill", ...scopes], "")).trim();
}

/** Creates a rule that sends the events of a search to a webhook. */
export async function createRule({ address, apiKey }: Installation, q: string, port: number): Promise<void> {
  const post = async (path: string, body: unknown) => {
    const response = await fetch(address + path, {
      method: "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response.json() as Promise<{ destination: { id: string } }>;
  };
  const settings = { url: `http://${loadAddress}:${port}/` };
  const { destination } = await post("/api/project-destinations", {
    kind: "webhook",
    name: "Drill",
    settings,
  });
  const to = { everyone: false, members: [], destinations: [destination.id] };
  await post("/api/rules", { name: "Drill", q, when: { type: "each" }, to });
}

/** Waits until there is no fault any more. */
async function until(fault: () => Promise<string | null>): Promise<void> {
  for (const endMs = performance.now() + recoveryMs; ; await Bun.sleep(200)) {
    const found = await fault().catch((error: Error) => error.message);
    if (found === null) return;
    if (performance.now() > endMs)
      throw new Error(`Still not whole after ${recoveryMs / 1_000} s: ${found}.`);
  }
}
