import { ownCommand } from "../process/program-files.ts";

/** A command in a process of its own, which costs the server neither time nor memory. */
export type RunningCommand = {
  /** What it printed, when it has ended. Throws what it printed on standard error if it failed. */
  output: Promise<string>;
  kill: (signal?: "SIGKILL") => void;
};

/** Runs a `tidings` command with the settings of this server. */
export function runCommand(dataDirectory: string, ...args: string[]): RunningCommand {
  const child = Bun.spawn(ownCommand(...args), {
    env: { ...process.env, TIDINGS_DATA: dataDirectory },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  async function output(): Promise<string> {
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (code !== 0) throw new Error(stderr.trim() || `exit code ${code}`);
    return stdout;
  }
  return { output: output(), kill: (signal) => child.kill(signal) };
}
