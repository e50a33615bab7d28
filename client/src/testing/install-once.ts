import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const caches = join(import.meta.dir, "../../../node_modules/.cache");

/**
 * Installs packages that are too large for the default installation, on first use and without their scripts. Returns the
 * directory that has their `node_modules`; null if the registry can't be reached.
 *
 * @param cache - a folder's name
 * @param wanted - packages with exact versions, such as "deno@2.9.6"
 */
export async function installOnce(cache: string, wanted: string[]): Promise<string | null> {
  const parent = join(caches, cache);
  const directory = join(parent, wanted.join("-").replaceAll("/", "-"));
  if (existsSync(directory)) return directory;
  await mkdir(parent, { recursive: true });
  const fresh = await mkdtemp(join(parent, "install-"));
  await writeFile(join(fresh, "package.json"), '{ "private": true }');
  const command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", ...wanted];
  const child = Bun.spawn(command, { cwd: fresh, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  const isInstalled = (await child.exited) === 0;
  // Fails if another test was faster.
  if (isInstalled) await rename(fresh, directory).catch(() => {});
  await rm(fresh, { recursive: true, force: true });
  return isInstalled ? directory : null;
}
