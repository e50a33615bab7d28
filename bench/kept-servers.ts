import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { memoryLimit } from "../server/testing/memory-limit.ts";
import { type KeptPostgres, keepPostgres } from "./kept-postgres.ts";
import { freePort, root, run } from "./processes.ts";
import { processorMs } from "./processor.ts";

const readyTimeoutMs = 300_000;
const secretKey = "A".repeat(43);
const checksOfMachine = ["address", "email", "push", "backup", "connections", "server settings"];
/** As in the log's lines. */
const errorLevel = 50;

/** What one sample of all servers' processes says. Memory is resident, in bytes. */
export type Usage = { memoryBytes: number; descriptors: number; diskBytes: number; processorMs: number };

/** How servers run. Backups are SQLite's; PostgreSQL has its own. The limit of memory is each server's, in megabytes. */
export type ServerOptions = {
  engine: "sqlite" | "postgres";
  nodes: number;
  isBackedUp: boolean;
  memoryMb?: number | undefined;
};

/** A server on SQLite or some nodes on PostgreSQL, on data that is kept. */
export class Servers {
  readonly #options: ServerOptions;
  readonly #directory: string;
  readonly #postgres: KeptPostgres | null;
  #children: Bun.Subprocess[] = [];
  #groups: NonNullable<ReturnType<typeof memoryLimit>>[] = [];
  #ports: number[] = [];
  #next = 0;

  private constructor(directory: string, options: ServerOptions, postgres: KeptPostgres | null) {
    this.#options = options;
    this.#directory = directory;
    this.#postgres = postgres;
  }

  /** Prepares the directory and, for PostgreSQL, starts the database. Doesn't start the servers yet. */
  static async open(directory: string, options: ServerOptions): Promise<Servers> {
    mkdirSync(join(directory, "data"), { recursive: true });
    const postgres = options.engine === "postgres" ? await keepPostgres(join(directory, "postgres")) : null;
    return new Servers(directory, options, postgres);
  }

  get engine(): "sqlite" | "postgres" {
    return this.#options.engine;
  }

  /** The directory of the database on SQLite. */
  get dataDirectory(): string {
    return join(this.#directory, "data");
  }

  /** Runs a statement on PostgreSQL and returns its first number. */
  async query(sql: string): Promise<number> {
    return this.#postgres!.query(sql);
  }

  get environment(): Record<string, string> {
    const common = { TIDINGS_SECRET_KEY: secretKey, TIDINGS_DATA: this.dataDirectory };
    return this.#postgres ? { ...common, DATABASE_URL: this.#postgres.url } : common;
  }

  /** A server's address; those of several nodes in turn. */
  get address(): string {
    return `http://127.0.0.1:${this.#ports[this.#next++ % this.#ports.length]}`;
  }

  get pids(): number[] {
    return this.#children.map(({ pid }) => pid);
  }

  async start(): Promise<void> {
    this.#ports = Array.from({ length: this.#options.nodes }, freePort);
    this.#children = this.#ports.map((port, number) => this.#startOne(port, number));
    await Promise.all(this.#ports.map((port, number) => this.#untilReady(port, this.#children[number]!)));
  }

  #startOne(port: number, number: number): Bun.Subprocess {
    const log = openSync(join(this.#directory, `server-${number + 1}.log`), "a");
    const backups = {
      TIDINGS_BACKUP_TO: join(this.#directory, "backups"),
      TIDINGS_BACKUP_MODE: "continuous",
      TIDINGS_BACKUP_HOURS: "1",
      TIDINGS_BACKUP_KEEP: "2",
    };
    if (this.#options.isBackedUp) mkdirSync(backups.TIDINGS_BACKUP_TO, { recursive: true });
    const program = [process.execPath, "server/main.ts"];
    return Bun.spawn(this.#inGroup(program), {
      cwd: root,
      env: {
        ...process.env,
        ...this.environment,
        ...(this.#options.isBackedUp && backups),
        HOST: "127.0.0.1",
        PORT: String(port),
        NODE_ENV: "production",
        // The destination of notifications is on this machine.
        TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true",
      },
      stdin: "ignore",
      stdout: log,
      stderr: log,
    });
  }

  /** The program in a control group of its own, if its memory is limited. */
  #inGroup(program: string[]): string[] {
    const { memoryMb } = this.#options;
    if (memoryMb === undefined) return program;
    const group = memoryLimit(memoryMb);
    if (!group) throw new Error("A limit of memory needs root on Linux, to make a control group.");
    this.#groups.push(group);
    return group.around(program);
  }

  async #untilReady(port: number, child: Bun.Subprocess): Promise<void> {
    const deadline = performance.now() + readyTimeoutMs;
    while (performance.now() < deadline && child.exitCode === null) {
      const isReady = await fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isReady) return;
      await Bun.sleep(100);
    }
    throw new Error(`A server did not start. Its log is ${this.#directory}/server-*.log.`);
  }

  /** Ends all servers. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    for (const child of this.#children) child.kill(signal);
    await Promise.all(this.#children.map(({ exited }) => exited));
    this.#children = [];
    for (const group of this.#groups.splice(0)) await group[Symbol.asyncDispose]();
  }

  /** Runs a `tidings` command on the data. */
  command(parameters: string[], stdin = "", env: Record<string, string> = {}): Promise<string> {
    return run({
      command: [process.execPath, "server/commands/tidings.ts", ...parameters],
      env: { ...this.environment, ...env },
      stdin,
    });
  }

  /** What `tidings doctor` finds wrong with the data. Faults of the machine, such as no way to the Internet, are none. */
  async faults(): Promise<string[]> {
    return this.#diagnose([]);
  }

  /** Runs `tidings doctor --fix`, and returns what is still wrong. */
  async repair(): Promise<string[]> {
    return this.#diagnose(["--fix"]);
  }

  async #diagnose(flags: string[]): Promise<string[]> {
    const child = Bun.spawn([process.execPath, "server/commands/tidings.ts", "doctor", "--json", ...flags], {
      cwd: root,
      env: { ...process.env, ...this.environment },
      stdout: "pipe",
    });
    const { findings } = JSON.parse(await new Response(child.stdout).text()) as {
      findings: { check: string; state: string; detail: string }[];
    };
    return findings
      .filter(({ check, state }) => state !== "ok" && !checksOfMachine.includes(check))
      .map(({ check, detail }) => `${check}: ${detail}`);
  }

  /** What the servers use now. Memory and descriptors are of all of them together. */
  async usage(): Promise<Usage> {
    const { pids } = this;
    const memory = pids.map(
      (pid) => /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1],
    );
    return {
      memoryBytes: memory.reduce((sum, kibibytes) => sum + Number(kibibytes) * 1_024, 0),
      descriptors: pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0),
      diskBytes: (await this.#postgres?.bytes()) ?? bytesOf(join(this.#directory, "data")),
      processorMs: processorMs(pids),
    };
  }

  /** Bytes of the backups' directory; 0 without backups. */
  backupBytes(): number {
    return bytesOf(join(this.#directory, "backups"));
  }

  /** Lines of the logs that are errors, or no lines of a log at all. */
  errors(): string[] {
    const logs = readdirSync(this.#directory).filter((name) => /^server-\d+\.log$/.test(name));
    const lines = logs.flatMap((name) => readFileSync(join(this.#directory, name), "utf8").split("\n"));
    return lines.filter((line) => line !== "" && !(Number(/^\{"level":(\d+),/.exec(line)?.[1]) < errorLevel));
  }

  async close(): Promise<void> {
    await this.end("SIGTERM");
    await this.#postgres?.stop();
  }
}

/** The files of a directory can disappear while they are counted. */
function bytesOf(directory: string): number {
  if (!existsSync(directory)) return 0;
  return readdirSync(directory, { recursive: true, withFileTypes: true }).reduce((sum, entry) => {
    const stats = entry.isFile() && statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false });
    return sum + (stats ? stats.size : 0);
  }, 0);
}
