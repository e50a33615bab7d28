/**
 * Docker and Compose, where their daemon runs. Their images are the machine's own: what the tests need is added to them
 * and stays, and what the tests run is removed.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../../clients/testing/programs.ts";
import { root, withStandIn } from "./containers.ts";

const answers = (...command: string[]) =>
  Bun.which(command[0]!) !== null && Bun.spawnSync(command).exitCode === 0;

/** Why Compose can't be tested here; null if it can. */
export const noCompose =
  process.platform !== "linux" || process.getuid?.() !== 0
    ? "Compose is tested on Linux, as root"
    : !answers("docker", "info")
      ? "Compose needs a Docker daemon that answers"
      : !answers("docker", "compose", "version")
        ? "Compose needs its plugin of Docker, version 2"
        : null;

/** How long a registry may take to begin with a base image. */
const pullMs = 60_000;

/** Pulls the images that a file names, such as `FROM node:20-slim`, or makes their stand-ins, unless they are there. */
export async function provideImages(path: string, pattern: RegExp): Promise<void> {
  const names = [...readFileSync(join(root, path), "utf8").matchAll(pattern)].map(([, name]) => name!);
  for (const name of names) {
    if (answers("docker", "image", "inspect", name)) continue;
    const pull = Bun.spawn(["docker", "pull", "--quiet", name], { stdout: "ignore", stderr: "ignore" });
    const timer = setTimeout(() => pull.kill(), pullMs);
    const code = await pull.exited;
    clearTimeout(timer);
    if (code === 0) continue;
    await withStandIn(name, async (archive, changes) => {
      await runProgram(["docker", "import", ...changes, archive, name], root);
    });
  }
}

/** Some services of a Compose file, with other ports. Disposing of them removes their containers and volumes. */
export function composed(
  file: string,
  ports: Record<string, string>,
  variables: Record<string, string> = {},
) {
  const project = `tidings-test-${process.pid}`;
  const path = join(tmpdir(), `${project}.yaml`);
  let text = readFileSync(join(root, file), "utf8");
  for (const [from, to] of Object.entries(ports)) {
    if (!text.includes(`"${from}"`)) throw new Error(`${file} has no port ${from}.`);
    text = text.replace(`"${from}"`, `"${to}"`);
  }
  writeFileSync(path, text);
  const folder = join(root, "deploy");
  const compose = ["docker", "compose", "--project-name", project, "--project-directory", folder];
  const run = (...args: string[]) => runProgram([...compose, "--file", path, ...args], root, variables);
  return {
    run,
    /** Runs a command of Tidings in a service's container, and returns what it printed. */
    async tidings(service: string, args: string[], stdin = ""): Promise<string> {
      const inContainer = ["--file", path, "exec", "--no-TTY", service, "/tidings", ...args];
      const child = Bun.spawn([...compose, ...inContainer], {
        env: { ...process.env, ...variables },
        stdin: new Blob([stdin]),
        stdout: "pipe",
        stderr: "pipe",
      });
      const [output, errors] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      if ((await child.exited) !== 0) throw new Error(`tidings ${args.join(" ")}: ${output}${errors}`);
      return output.trim();
    },
    /** The identifier of a service's container. */
    async container(service: string): Promise<string> {
      return (await run("ps", "--all", "--quiet", service)).trim();
    },
    async [Symbol.asyncDispose]() {
      if (!existsSync(path)) return;
      await run("down", "--volumes", "--timeout", "20", "--rmi", "local");
      rmSync(path);
    },
  };
}
