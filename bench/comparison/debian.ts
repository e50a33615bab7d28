import { existsSync, readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { root, run } from "../processes.ts";

const folder = join(root, "bench/.packages");
const programFolders = ["usr/bin", "usr/sbin"];

/** A program that the comparison starts, and the library path that it needs. */
export type Program = { path: string; env: Record<string, string>; source: string; installedBytes: number };

/**
 * Finds a program: the one in `PATH`, or that of Debian's package. Packages are unpacked into `bench/.packages` and
 * not installed, so nothing else on the machine changes and no service starts.
 *
 * @param packages - the package with the program first, then those that it needs and this machine may not have
 * @throws if there is neither, saying how to get it
 */
export async function findProgram(name: string, packages: string[]): Promise<Program> {
  const inPath = Bun.which(name);
  if (inPath) return { path: inPath, env: {}, source: inPath, installedBytes: await diskBytes(inPath) };
  const unpacked = join(folder, packages[0]!);
  if (!existsSync(unpacked)) await unpack(packages, unpacked);
  const path = programFolders.map((each) => join(unpacked, each, name)).find(existsSync);
  if (!path) throw new Error(`Debian's ${packages[0]} has no ${name}.`);
  const libraries = join(unpacked, "usr/lib");
  const architectures = existsSync(libraries) ? readdirSync(libraries) : [];
  return {
    path,
    env: { LD_LIBRARY_PATH: architectures.map((each) => join(libraries, each)).join(":") },
    source: `Debian's ${packages[0]}`,
    installedBytes: await diskBytes(join(unpacked, "usr")),
  };
}

/** Downloads packages and unpacks them. */
async function unpack(packages: string[], directory: string): Promise<void> {
  if (!Bun.which("apt-get") || !Bun.which("dpkg-deb"))
    throw new Error(`not measured: install ${packages[0]}, because this machine has no packages of Debian`);
  const downloads = `${directory}.download`;
  await mkdir(downloads, { recursive: true });
  await run({ command: ["apt-get", "download", ...packages], cwd: downloads });
  for (const file of readdirSync(downloads))
    await run({ command: ["dpkg-deb", "--extract", join(downloads, file), `${directory}.part`] });
  // The last step: a run that was interrupted before starts again.
  await run({ command: ["mv", `${directory}.part`, directory] });
  await run({ command: ["rm", "-r", downloads] });
}

/** What a file or folder takes on disk, in bytes. */
export async function diskBytes(path: string): Promise<number> {
  const output = await run({ command: ["du", "--summarize", "--dereference-args", "--block-size=1", path] });
  return Number(output.split("\t")[0]);
}
