import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { environmentOf, patienceMs, removeStorage, testSecretKey } from "./engine.ts";
import { every } from "./every.ts";
import { isStopped, memoryMbOf, processorMsOf } from "./process-usage.ts";
import { preparedConfig } from "./test-app.ts";
import { until } from "./until.ts";

const server = join(import.meta.dir, "..");

export type Ended = { code: number | null; stdout: string; stderr: string };

/** The program's source, run with the Bun that runs the tests. */
export const fromSource = [process.execPath, join(server, "commands/tidings.ts")];

/** The same, but SIGUSR2 collects its garbage. */
const collectable = [
  process.execPath,
  "--preload",
  join(import.meta.dir, "collect-on-signal.ts"),
  fromSource[1]!,
];

/**
 * Runs a `tidings` command in a separate process and waits for it to end.
 *
 * @param program - what to run, such as a built executable
 */
export async function runTidings(
  args: string[],
  environment: Record<string, string>,
  stdin = "",
  program = fromSource,
): Promise<Ended> {
  const child = spawnTidings(args, environment, stdin, program);
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, stdout, stderr };
}

/**
 * Starts a server in a separate process and waits until it listens.
 *
 * @param onOutput - called with all of its standard output so far
 */
export async function startServer(
  environment: Record<string, string>,
  onOutput: (stdout: string) => void = () => {},
  program = fromSource,
) {
  const child = spawnTidings(
    ["serve"],
    { HOST: "127.0.0.1", PORT: "0", TIDINGS_LOG: "error", ...environment },
    "",
    program,
  );
  const stderr = new Response(child.stderr).text();
  let stdout = "";
  const decoder = new TextDecoder();
  const reader = child.stdout.getReader();
  const address = () => /"address":"([^"]+)".*\n/.exec(stdout)?.[1];
  while (!address()) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`The server did not start: ${stdout}${await stderr}`);
    stdout += decoder.decode(value, { stream: true });
    onOutput(stdout);
  }
  const rest = (async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read())
      stdout += decoder.decode(read.value);
  })();
  async function ended(): Promise<Ended> {
    const code = await child.exited;
    await rest;
    return { code, stdout, stderr: await stderr };
  }
  return {
    pid: child.pid,
    address: address()!,
    get stdout() {
      return stdout;
    },
    ended,
    /** Sends a signal and waits for the end. */
    end(signal: "SIGTERM" | "SIGKILL" | "SIGINT"): Promise<Ended> {
      child.kill(signal);
      return ended();
    },
  };
}

type ServerProcess = Awaited<ReturnType<typeof startServer>>;

/**
 * Like `testApp`, but with the server in a separate process, to be killed or measured.
 *
 * @param variables - further settings of the server
 */
export async function testProcess(
  change: Partial<Config> = {},
  program = collectable,
  variables: Record<string, string> = {},
) {
  const { config, secret } = await preparedConfig(change);
  const environment = {
    ...environmentOf(config),
    ...(config.metricsToken !== null && { TIDINGS_METRICS_TOKEN: config.metricsToken }),
    ...variables,
  };
  let server: ServerProcess | null = await startServer(environment, undefined, program);
  /** Rejects while the server is down. */
  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set("x-api-key", secret);
    return fetch(server!.address + path, { ...init, headers });
  };
  const memoryMb = () => memoryMbOf(server!.pid);
  /** Has garbage collected. The response to the second request follows the first collection. */
  async function collect(): Promise<void> {
    if (program !== collectable) return;
    for (let n = 0; n < 2; n++) {
      process.kill(server!.pid, "SIGUSR2");
      await (await fetch(`${server!.address}/healthz`)).bytes();
    }
  }
  return {
    config,
    environment,
    key: secret,
    request,
    post: (event: unknown): Promise<Response> =>
      request("/api/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(event),
      }),
    get address(): string {
      return server!.address;
    },
    get pid(): number {
      return server!.pid;
    },
    /** Waits for a server that ends by itself. */
    async ended(): Promise<Ended> {
      const ended = await server!.ended();
      server = null;
      return ended;
    },
    /** The server's resident memory, garbage included. */
    memoryMb,
    /** The server's resident memory without garbage. */
    async heldMb(): Promise<number> {
      await collect();
      return memoryMb();
    },
    processorMs: (): number => processorMsOf(server!.pid),
    /** The server's peak memory during `work`. */
    async peakMb(work: () => Promise<void>): Promise<number> {
      let peak = memoryMb();
      using _sampling = every(20, () => {
        peak = Math.max(peak, memoryMb());
      });
      await work();
      return Math.max(peak, memoryMb());
    },
    /** Waits until the server holds no more than this much memory. It returns memory some time after a collection. */
    async heldDownTo(megabytes: number, withinMs = patienceMs): Promise<void> {
      for (const endMs = performance.now() + withinMs; ; await Bun.sleep(50)) {
        await collect();
        const usedMb = memoryMb();
        if (usedMb <= megabytes) return;
        if (performance.now() > endMs)
          throw new Error(`The server uses ${usedMb.toFixed()} MB, expected at most ${megabytes.toFixed()}.`);
      }
    },
    /** Stops all threads of the server. Only SIGKILL ends it then. */
    async freeze(): Promise<void> {
      process.kill(server!.pid, "SIGSTOP");
      await until(() => isStopped(server!.pid));
    },
    async end(signal: "SIGTERM" | "SIGKILL" | "SIGINT"): Promise<Ended> {
      const ended = await server!.end(signal);
      server = null;
      return ended;
    },
    async start(): Promise<void> {
      server = await startServer(environment, undefined, program);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await server?.end("SIGTERM");
      // A directory of the test's own may be on a disk that allows nothing any more.
      if (change.dataDirectory === undefined) await removeStorage(config);
    },
  };
}

/** Starts a `tidings` command in a separate process. */
export function spawnTidings(
  args: string[],
  environment: Record<string, string>,
  stdin: string,
  program = fromSource,
) {
  // The machine's own settings must not reach the process.
  const { PATH = "", HOME = "", TMPDIR } = process.env;
  return Bun.spawn([...program, ...args], {
    cwd: server,
    env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), TIDINGS_SECRET_KEY: testSecretKey, ...environment },
    stdin: new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
}
