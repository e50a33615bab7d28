/** Docker and its plugin Compose, where a daemon answers. What the tests add to it, they remove. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../../clients/testing/programs.ts";
import { provideImage } from "./base-images.ts";
import { root } from "./folders.ts";

/** Marks stand-ins, which have the names of images that other people use too. */
const standInLabel = "tidings.stand-in";

const succeeds = (...command: string[]) =>
  Bun.which(command[0]!) !== null && Bun.spawnSync(command).exitCode === 0;

/** Why Compose can't be tested here; null if it can. */
export const noCompose =
  process.platform !== "linux" || process.getuid?.() !== 0
    ? "Compose is tested on Linux, as root"
    : !succeeds("docker", "info")
      ? "Compose needs a Docker daemon that answers"
      : !succeeds("docker", "compose", "version")
        ? "Docker needs its plugin Compose, version 2 or newer"
        : null;

export async function provideForDocker(names: string[]): Promise<void> {
  for (const name of names)
    await provideImage(name, {
      has: async () => succeeds("docker", "image", "inspect", name),
      pull: ["docker", "pull", "--quiet", name],
      load: async (archive, options) => {
        const label = ["--change", `LABEL ${standInLabel}=true`];
        await runProgram(["docker", "import", ...options, ...label, archive, name], root);
      },
    });
}

/** Removes stand-ins, so that the real images are pulled once a registry answers. */
export async function removeStandIns(): Promise<void> {
  const list = ["docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}"];
  const names = await runProgram([...list, "--filter", `label=${standInLabel}`], root);
  for (const name of names.split("\n").filter(Boolean))
    await runProgram(["docker", "image", "rm", "--force", name], root);
}

export type ComposeProject = Awaited<ReturnType<typeof composeProject>>;

/**
 * A Compose file's services, with other ports. What an earlier run left of them is removed; disposing of them removes
 * containers, images and volumes.
 */
export async function composeProject(
  name: string,
  file: string,
  ports: Record<string, string>,
  variables: Record<string, string> = {},
) {
  const directory = mkdtempSync(join(tmpdir(), "tidings-compose-"));
  const path = join(directory, "compose.yaml");
  let text = readFileSync(join(root, file), "utf8");
  for (const [from, to] of Object.entries(ports)) {
    if (!text.includes(`"${from}"`)) throw new Error(`${file} has no port ${from}.`);
    text = text.replace(`"${from}"`, `"${to}"`);
  }
  writeFileSync(path, text);
  const options = ["--project-name", name, "--file", path, "--project-directory", join(root, "deploy")];
  const run = (args: string[], stdin = "") =>
    runProgram(["docker", "compose", ...options, ...args], root, variables, stdin);
  const remove = () => run(["down", "--volumes", "--timeout", "20", "--rmi", "local"]);
  await remove();
  return {
    /** Runs `docker compose`, and returns what it printed. */
    run,
    /** Runs a command of Tidings in a service's container, and returns what it printed. */
    async tidings(service: string, args: string[], stdin = ""): Promise<string> {
      return (await run(["exec", "--no-TTY", service, "/tidings", ...args], stdin)).trim();
    },
    /** Reads a field of a service's container, such as `.State.Pid`. */
    async inspect<Value>(service: string, field: string): Promise<Value> {
      const id = (await run(["ps", "--all", "--quiet", service])).trim();
      return JSON.parse(await runProgram(["docker", "inspect", "--format", `{{json ${field}}}`, id], root));
    },
    async [Symbol.asyncDispose]() {
      await remove().finally(() => rmSync(directory, { recursive: true }));
    },
  };
}
