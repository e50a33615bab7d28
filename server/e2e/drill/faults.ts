import type { Installation, NodeMachine } from "./installation.ts";
import { dropDatabases, isolate, reconnect, rejectDatabases, slowDown } from "./network-faults.ts";

/** The delay of a slow network in each direction. */
const delayMs = 50;

export type Fault = {
  name: string;
  /** What happens, for the table. */
  what: string;
  /** How often a whole run tries it. */
  times: number;
  /** How long it lasts. */
  seconds: number;
  /**
   * Makes it happen, waits, and ends it.
   *
   * @param nth - how often it was tried before, to choose another node each time
   */
  run: (installation: Installation, lasts: () => Promise<void>, nth: number) => Promise<void>;
};

export const faults: readonly Fault[] = [
  {
    name: "node-killed",
    what: "a Tidings node is killed",
    times: 3,
    seconds: 5,
    async run(installation, lasts, nth) {
      const { node } = nodeOf(installation, nth);
      await node.end("SIGKILL");
      await lasts();
      node.start();
    },
  },
  {
    name: "node-stopped",
    what: "a Tidings node is stopped (SIGTERM) and started again",
    times: 3,
    seconds: 5,
    async run(installation, lasts, nth) {
      const { node } = nodeOf(installation, nth);
      const code = await node.end("SIGTERM");
      if (code !== 0) throw new Error(`A node that was stopped ended with ${code}.`);
      await lasts();
      node.start();
    },
  },
  {
    name: "node-paused",
    what: "a Tidings node hangs (SIGSTOP)",
    times: 3,
    seconds: 10,
    async run(installation, lasts, nth) {
      const { node } = nodeOf(installation, nth);
      node.signal("SIGSTOP");
      await lasts();
      node.signal("SIGCONT");
    },
  },
  {
    name: "node-cut-off",
    what: "a Tidings node loses the network to the databases",
    times: 2,
    seconds: 10,
    async run(installation, lasts, nth) {
      const { machine } = nodeOf(installation, nth);
      await dropDatabases(machine);
      await lasts();
      await reconnect(machine);
    },
  },
  {
    name: "primary-killed",
    what: "the primary and its Patroni are killed",
    times: 4,
    seconds: 20,
    async run({ databases }, lasts) {
      const primary = await databases.primary();
      signalAll(primary.processes(), "SIGKILL");
      await primary.patroni.ended();
      await lasts();
      primary.patroni.start();
    },
  },
  {
    name: "postgres-killed",
    what: "PostgreSQL is killed on the primary, Patroni stays",
    times: 3,
    seconds: 8,
    async run({ databases }, lasts) {
      signalAll((await databases.primary()).postgresProcesses(), "SIGKILL");
      await lasts();
    },
  },
  {
    name: "primary-paused",
    what: "the primary and its Patroni hang, and come back after the failover",
    times: 3,
    seconds: 20,
    async run({ databases }, lasts) {
      const processes = (await databases.primary()).processes();
      signalAll(processes, "SIGSTOP");
      await lasts();
      signalAll(processes, "SIGCONT");
    },
  },
  {
    name: "primary-isolated",
    what: "the primary's machine loses the network",
    times: 3,
    seconds: 20,
    async run({ databases }, lasts) {
      const { machine } = await databases.primary();
      await isolate(machine);
      await lasts();
      await reconnect(machine);
    },
  },
  {
    name: "standby-killed",
    what: "the synchronous standby and its Patroni are killed",
    times: 3,
    seconds: 10,
    async run({ databases }, lasts) {
      const standby = await databases.synchronousStandby();
      signalAll(standby.processes(), "SIGKILL");
      await standby.patroni.ended();
      await lasts();
      standby.patroni.start();
    },
  },
  {
    name: "switchover",
    what: "a planned switchover (`patronictl switchover`)",
    times: 3,
    seconds: 6,
    async run({ databases }, lasts) {
      await databases.switchOver();
      await lasts();
    },
  },
  {
    name: "etcd-killed",
    what: "the leader of etcd is killed",
    times: 2,
    seconds: 8,
    async run({ databases }, lasts) {
      const { etcd } = await databases.etcdLeader();
      await etcd.end("SIGKILL");
      await lasts();
      etcd.start();
    },
  },
  {
    name: "etcd-paused",
    what: "all of etcd hangs: nobody can hold the leader's lock",
    times: 3,
    seconds: 14,
    async run({ databases }, lasts) {
      for (const { etcd } of databases.machines) etcd.signal("SIGSTOP");
      await lasts();
      for (const { etcd } of databases.machines) etcd.signal("SIGCONT");
    },
  },
  {
    name: "disk-full",
    what: "the primary's disk is full",
    times: 3,
    seconds: 8,
    async run({ databases }, lasts) {
      const primary = await databases.primary();
      primary.fillDisk();
      await lasts();
      primary.freeDisk();
    },
  },
  {
    name: "databases-unreachable",
    what: "the network between nodes and databases drops everything",
    times: 3,
    seconds: 10,
    async run({ nodes }, lasts) {
      await Promise.all(nodes.map(({ machine }) => dropDatabases(machine)));
      await lasts();
      await Promise.all(nodes.map(({ machine }) => reconnect(machine)));
    },
  },
  {
    name: "databases-refuse",
    what: "the network between nodes and databases rejects everything",
    times: 2,
    seconds: 8,
    async run({ nodes }, lasts) {
      await Promise.all(nodes.map(({ machine }) => rejectDatabases(machine)));
      await lasts();
      await Promise.all(nodes.map(({ machine }) => reconnect(machine)));
    },
  },
  {
    name: "network-slow",
    what: `the network between nodes and databases takes ${2 * delayMs} ms longer for each round trip`,
    times: 2,
    seconds: 10,
    async run({ nodes }, lasts) {
      const end = await slowDown(nodes, delayMs);
      await lasts();
      await end();
    },
  },
  {
    name: "proxy-killed",
    what: "the HAProxy of a node is killed and started again",
    times: 3,
    seconds: 5,
    async run(installation, lasts, nth) {
      const { proxy } = nodeOf(installation, nth);
      await proxy.end("SIGKILL");
      await lasts();
      proxy.start();
    },
  },
  {
    name: "balancer-killed",
    what: "Caddy is killed and started again",
    times: 2,
    seconds: 3,
    async run({ balancer }, lasts) {
      await balancer.end("SIGKILL");
      await lasts();
      balancer.start();
    },
  },
];

function nodeOf({ nodes }: Installation, nth: number): NodeMachine {
  return nodes[nth % nodes.length]!;
}

function signalAll(processes: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of processes) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended with its parent.
    }
  }
}
