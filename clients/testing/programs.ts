/**
 * Returns the first command that runs, or null after saying that tests are skipped and what they need.
 *
 * @param probe - arguments with which a program that will do ends with 0
 */
export function findProgram(candidates: string[], probe: string[], needed: string): string | null {
  for (const candidate of candidates) {
    if (!Bun.which(candidate)) continue;
    const { exitCode } = Bun.spawnSync([candidate, ...probe], { stdout: "ignore", stderr: "ignore" });
    if (exitCode === 0) return candidate;
  }
  console.log(`Skipped: ${needed}`);
  return null;
}

/** Debian's, if another Python comes first that lacks its packages. */
export const pythons = ["python3", "/usr/bin/python3"];

/** How a test runs a client's scenarios. */
export type Driver = {
  /** The command, to which the name of a scenario is added. */
  command: string[];
  environment?: Record<string, string>;
};

/** What a scenario is told. */
export type Settings = {
  url: string;
  key: string;
  channel?: string;
  count?: number;
  /** How many events are measured together. */
  window?: number;
  /** A pause after each 100 events. */
  pauseMs?: number;
  /** Flushes after each so many events. */
  flushEvery?: number;
  /** Of the offline files. */
  directory?: string;
  queueMax?: number;
  lastEventId?: string;
  /** Ends with `close`, which may take this many seconds. */
  close?: number;
  /** Kills itself. */
  kill?: boolean;
  /** Prints what was dropped. */
  report?: boolean;
};

export type DriverProcess = ReturnType<typeof startDriver>;

/** Starts a scenario. */
export function startDriver({ command, environment }: Driver, scenario: string, settings: Settings) {
  const child = Bun.spawn([...command, scenario], {
    env: { ...process.env, ...environment },
    stdin: new Blob([JSON.stringify(settings)]),
    stdout: "pipe",
    stderr: "pipe",
  });
  return child;
}

/** Runs a scenario and returns its output as JSON; null without any. Throws if it fails, or warns of anything. */
export async function runDriver(driver: Driver, scenario: string, settings: Settings): Promise<unknown> {
  const child = startDriver(driver, scenario, settings);
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const code = await child.exited;
  if (code !== 0 && !(settings.kill && child.signalCode === "SIGKILL"))
    throw new Error(`${scenario} ended with ${code}: ${output}${errors}`);
  if (errors !== "") throw new Error(`${scenario} printed: ${errors}`);
  return output === "" ? null : JSON.parse(output);
}

/** Runs a program and returns its output. Throws if it fails. */
export async function runProgram(
  command: string[],
  cwd: string,
  environment: Record<string, string> = {},
  stdin = "",
): Promise<string> {
  const child = Bun.spawn(command, {
    cwd,
    env: { ...process.env, ...environment },
    stdin: new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const code = await child.exited;
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${output}${errors}`);
  return output;
}
