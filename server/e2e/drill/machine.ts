import { mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { Program } from "./program.ts";

/** The bridge that connects the machines. The load runs beside it, at the first address. */
const bridge = "drill";
export const loadAddress = "10.0.0.1";

/** Where rules apply. Redirections come before filters. */
const hooks = {
  input: "filter hook input priority 0",
  output: "filter hook output priority 0",
  redirect: "nat hook output priority -100",
};

/**
 * Stands for a machine: a network namespace with an address and a mount namespace, whose file systems in memory end with
 * it.
 */
export class Machine {
  readonly name: string;
  readonly address: string;
  readonly #pid: number;
  readonly #logs: string;

  private constructor(name: string, address: string, pid: number, logs: string) {
    this.name = name;
    this.address = address;
    this.#pid = pid;
    this.#logs = logs;
  }

  /** @param logs - a directory, in which each program of the machine has a file */
  static async start(name: string, address: string, logs: string): Promise<Machine> {
    mkdirSync(logs, { recursive: true });
    const holder = Bun.spawn(["unshare", "--net", "--mount", "sleep", "infinity"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const { pid } = holder;
    while (namespaceOf(pid) === namespaceOf("self")) await Bun.sleep(5);
    const machine = new Machine(name, address, pid, logs);
    await execute(["ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", `${pid}`]);
    await execute(["ip", "link", "set", name, "master", bridge, "up"]);
    await machine.run(["ip", "address", "add", `${address}/24`, "dev", "eth0"]);
    await machine.run(["ip", "link", "set", "eth0", "up"]);
    await machine.run(["ip", "link", "set", "lo", "up"]);
    return machine;
  }

  /** Runs a command to its end and returns its output. */
  run(command: readonly string[], input = ""): Promise<string> {
    return execute([...this.#enter(), ...command], input);
  }

  /** A program of this machine, which is not running yet. */
  program(name: string, command: readonly string[], environment: Record<string, string>): Program {
    const log = join(this.#logs, `${this.name}-${name}.log`);
    return new Program(`${name} of ${this.name}`, [...this.#enter(), ...command], environment, log);
  }

  /** The path from outside of a path on this machine. */
  path(path: string): string {
    return join(`/proc/${this.#pid}/root`, path);
  }

  /** Filters or redirects what the machine receives and sends (nft). The name is that under which the rules are removed. */
  async addRules(name: string, rules: readonly [hook: keyof typeof hooks, rules: string][]): Promise<void> {
    const chains = rules.map(([hook, text]) => `chain on_${hook} {\ntype ${hooks[hook]};\n${text}\n}`);
    await this.run(["/usr/sbin/nft", "-f", "-"], `table ip ${name} {\n${chains.join("\n")}\n}\n`);
  }

  async removeRules(name: string): Promise<void> {
    await this.run(["/usr/sbin/nft", "delete", "table", "ip", name]);
  }

  #enter(): string[] {
    return ["nsenter", `--target=${this.#pid}`, "--net", "--mount", "--"];
  }
}

/** Creates the bridge, in the drill's own network namespace. */
export async function startBridge(): Promise<void> {
  await execute(["ip", "link", "set", "lo", "up"]);
  await execute(["ip", "link", "add", bridge, "type", "bridge"]);
  await execute(["ip", "address", "add", `${loadAddress}/24`, "dev", bridge]);
  await execute(["ip", "link", "set", bridge, "up"]);
}

function namespaceOf(process: number | "self"): string {
  return readlinkSync(`/proc/${process}/ns/mnt`);
}

async function execute(command: readonly string[], input = ""): Promise<string> {
  const child = Bun.spawn([...command], {
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` },
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${errors || output}`);
  return output;
}

/** The ids of a process and of all that descend from it. */
export function processTree(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(Number(name));
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const treeOf = (root: number): number[] => [root, ...(children.get(root) ?? []).flatMap(treeOf)];
  return treeOf(pid);
}

/** The parent's id (proc(5), /proc/PID/stat); 0 if the process has ended. */
function parentOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before it is in parentheses and can contain anything.
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return 0;
  }
}
