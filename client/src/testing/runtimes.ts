import { join } from "node:path";
import { installOnce } from "./install-once.ts";

/** What npm has as packages: the oldest Node that the library supports, Deno, and the runtime of Cloudflare Workers. */
type Packages = { node18: string; deno: string; workerd: string };

const versions: Packages = { node18: "18.20.8", deno: "2.9.6", workerd: "1.20261117.1" };
const packages: Record<string, Packages> = {
  "linux-x64": packagesFor("linux-x64", "linux-x64-glibc", "linux-64"),
  "linux-arm64": packagesFor("linux-arm64", "linux-arm64-glibc", "linux-arm64"),
  "darwin-arm64": packagesFor("darwin-arm64", "darwin-arm64", "darwin-arm64"),
};

function packagesFor(node18: string, deno: string, workerd: string): Packages {
  return { node18: `node-${node18}`, deno: `@deno/${deno}`, workerd: `@cloudflare/workerd-${workerd}` };
}

/**
 * The commands that run a program, by runtime, and the path of workerd. Installs what npm has on first use (400 MB). If
 * the registry can't be reached, a line says so, and they are left out.
 */
export async function installRuntimes(): Promise<{ commands: Map<string, string[]>; workerd?: string }> {
  const commands = new Map([
    ["node", ["node"]],
    ["bun", [process.execPath]],
  ]);
  const names = packages[`${process.platform}-${process.arch}`];
  const wanted = Object.entries(versions).map(
    ([name, version]) => `${names?.[name as keyof Packages]}@${version}`,
  );
  const directory = names ? await installOnce("tidings-runtimes", wanted) : null;
  if (!names || directory === null) {
    console.log(`Left out, because they can't be installed here: ${Object.keys(versions).join(", ")}.`);
    return { commands };
  }
  const modules = join(directory, "node_modules");
  commands.set("node18", [join(modules, names.node18, "bin/node")]);
  commands.set("deno", [join(modules, names.deno, "deno"), "run", "--quiet", "--allow-all"]);
  return { commands, workerd: join(modules, names.workerd, "bin/workerd") };
}
