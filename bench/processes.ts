import { mkdtemp, readFile, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The repository's root, wherever the command was called from. */
export const root = join(import.meta.dir, "..");

const readyTimeoutMs = 30_000;
const stopTimeoutMs = 10_000;
const tmpfsMagic = 0x01021994; // statfs(2)
/** `sysconf(_SC_CLK_TCK)` of every Linux. */
const ticksPerSecond = 100;

const running = new Set<Bun.Subprocess>();
const folders = new Set<string>();
let interrupted = false;

/** Leaves nothing behind on Ctrl-C: stops the processes started here and deletes their data. */
export function cleanUpOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, async () => {
      interrupted = true;
      await cleanUp();
      process.exit(130);
    });
  }
}

/** Stops every remaining process and deletes every remaining folder. */
export async function cleanUp(): Promise<void> {
  await Promise.all([...running].map(stop));
  await Promise.all([...folders].map(deleteFolder));
}

/**
 * Creates a folder for a database on a real disk. On a tmpfs an fsync costs nothing, and the figures would be
 * meaningless.
 */
export async function makeFolder(): Promise<string> {
  const onDisk = (await statfs(tmpdir())).type !== tmpfsMagic;
  const folder = await mkdtemp(join(onDisk ? tmpdir() : import.meta.dir, "tidings-bench-"));
  folders.add(folder);
  return folder;
}

export async function deleteFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  folders.delete(folder);
}

export type Command = { command: string[]; cwd?: string; env?: Record<string, string>; stdin?: string };

/** Whether an HTTP server responds on a port. A 503 means that it is still starting. */
const respondsToHttp = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ status }) => status !== 503,
    () => false,
  );

/** Whether a server accepts connections on a port. */
export const acceptsConnections = (port: number): Promise<boolean> =>
  Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).then(
    (socket) => {
      socket.end();
      return true;
    },
    () => false,
  );

/** Starts a server and resolves when it responds on its port. */
export async function startServer(
  port: number,
  { command, cwd = root, env }: Command,
  responds: (port: number) => Promise<boolean> = respondsToHttp,
): Promise<Bun.Subprocess> {
  const server = spawn({ command, cwd, ...(env && { env }) });
  const output = new Response(server.stdout).text();
  const errors = new Response(server.stderr).text();
  const deadline = performance.now() + readyTimeoutMs;
  while (performance.now() < deadline && server.exitCode === null) {
    if (await responds(port)) return server;
    await Bun.sleep(50);
  }
  await stop(server);
  throw new Error(`${command.join(" ")} did not start:\n${await output}${await errors}`);
}

/**
 * Runs a command to completion and returns its output.
 *
 * @param onStart - called with the id of its process
 */
export async function run(
  { command, cwd = root, env, stdin }: Command,
  onStart: (pid: number) => void = () => {},
): Promise<string> {
  const child = spawn({ command, cwd, ...(env && { env }), ...(stdin !== undefined && { stdin }) });
  onStart(child.pid);
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  running.delete(child);
  // The cleanup stopped it and will end this process too.
  if (interrupted) return new Promise(() => {});
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}:\n${errors || output}`);
  return output;
}

/** Stops a process, by force after ten seconds. */
export async function stop(child: Bun.Subprocess): Promise<void> {
  child.kill("SIGTERM");
  const killer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  await child.exited;
  clearTimeout(killer);
  running.delete(child);
}

/** The processor time that a process has used so far, in seconds. Null where there is no `/proc`. */
export async function processorSeconds(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (text === null) return null;
  // After the name, which can contain spaces: state is the first field, utime and stime are the 12th and 13th (proc(5)).
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** A port that is free at the moment. */
export function freePort(): number {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port } = server;
  server.stop(true);
  return port!;
}

/** Starts a process that is asked line by line: its input stays open until it is stopped. */
export function spawnAndKeep({ command, cwd = root }: Command) {
  const child = Bun.spawn(command, { cwd, stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  running.add(child);
  return child;
}

function spawn({ command, cwd, env, stdin }: Command) {
  const child = Bun.spawn(command, {
    cwd: cwd!,
    env: { ...process.env, ...env },
    stdin: stdin === undefined ? "ignore" : new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
  running.add(child);
  return child;
}
