import { closeSync, openSync } from "node:fs";

/** How long a program may take to end after SIGTERM. */
const endMs = 60_000;

/** A program that can be killed, paused and started again. What it prints is appended to a file. */
export class Program {
  readonly name: string;
  readonly #command: readonly string[];
  readonly #environment: Record<string, string>;
  readonly #log: string;
  #child: Bun.Subprocess | null = null;

  constructor(name: string, command: readonly string[], environment: Record<string, string>, log: string) {
    this.name = name;
    this.#command = command;
    this.#environment = environment;
    this.#log = log;
  }

  get pid(): number {
    if (this.#child === null) throw new Error(`The ${this.name} is not running.`);
    return this.#child.pid;
  }

  start(): void {
    const log = openSync(this.#log, "a");
    const { PATH = "", HOME = "" } = process.env;
    this.#child = Bun.spawn([...this.#command], {
      env: { PATH: `${PATH}:/usr/sbin:/sbin`, HOME, ...this.#environment },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal);
  }

  /** Sends a signal and waits for the end. Returns the exit code, which is null after SIGKILL. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    const child = this.#child;
    if (child === null) throw new Error(`The ${this.name} is not running.`);
    child.kill(signal);
    const ended = await Promise.race([child.exited.then(() => true), Bun.sleep(endMs).then(() => false)]);
    if (!ended) throw new Error(`The ${this.name} did not end within ${endMs / 1_000} s of ${signal}.`);
    this.#child = null;
    return child.exitCode;
  }

  /** Call it if something else ended the program. */
  async ended(): Promise<void> {
    await this.#child?.exited;
    this.#child = null;
  }
}
