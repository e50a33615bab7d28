import { ownCommand } from "../process/program-files.ts";

/** A command in a process of its own. */
export type RunningCommand = {
  /** What it printed, when it has ended. Throws what it printed on standard error if it failed. */
  output: Promise<string>;
  kill: (signal?: "SIGKILL") => void;
};

/** How long a command waits for those before it. One can hang, such as at a store that doesn't answer. */
const commandWaitMaxMs = 3_600_000;

/**
 * Runs `tidings` commands with the settings of this server, one after another: each takes some 50 to 100 MB, and two of
 * them at the same time, more than a small container has besides the server.
 */
export class CommandRunner {
  readonly #dataDirectory: string;
  readonly #waitMaxMs: number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(dataDirectory: string, waitMaxMs = commandWaitMaxMs) {
    this.#dataDirectory = dataDirectory;
    this.#waitMaxMs = waitMaxMs;
  }

  /** Starts the command as soon as those before it have ended, or after an hour. */
  run(...args: string[]): RunningCommand {
    let child: Bun.Subprocess<"ignore", "pipe", "pipe"> | null = null;
    let isKilled = false;
    const turn = Promise.withResolvers<void>();
    void this.#last.then(() => turn.resolve());
    const timer = setTimeout(turn.resolve, this.#waitMaxMs);
    timer.unref();
    const output = turn.promise.then(() => {
      clearTimeout(timer);
      if (isKilled) throw new Error(`"tidings ${args.join(" ")}" was not started`);
      child = this.#start(args);
      return outputOf(child);
    });
    this.#last = Promise.allSettled([this.#last, output]);
    return {
      output,
      kill(signal) {
        isKilled = true;
        turn.resolve();
        child?.kill(signal);
      },
    };
  }

  #start(args: string[]) {
    return Bun.spawn(ownCommand(...args), {
      env: { ...process.env, TIDINGS_DATA: this.#dataDirectory },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
  }
}

async function outputOf(child: Bun.Subprocess<"ignore", "pipe", "pipe">): Promise<string> {
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(stderr.trim() || `exit code ${code}`);
  return stdout;
}
