import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const client = join(import.meta.dir, "../..");
const modules = join(client, "../node_modules");

/** A directory with nothing but the installed package, and the frameworks that it has entries for. */
export type InstalledPackage = {
  directory: string;
  /** What `npm publish` would upload. */
  tarball: string;
  /** Writes a file into the directory, and returns its path. */
  write(name: string, text: string): Promise<string>;
  /** Runs a command there and resolves to its output. Rejects if it fails. */
  run(command: string[], env?: Record<string, string>): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
};

/**
 * Packs the library and installs the tarball.
 *
 * @param frameworks - packages of this repository to link beside it
 */
export async function installPackage(frameworks: string[] = []): Promise<InstalledPackage> {
  const root = await mkdtemp(join(tmpdir(), "tidings-client-"));
  const run = async (command: string[], cwd: string, env: Record<string, string> = {}): Promise<string> => {
    const options = {
      cwd,
      env: { ...process.env, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    } as const;
    const child = Bun.spawn(command, options);
    const [output, errors, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}:\n${output}${errors}`);
    return output;
  };

  // Built outside of `client/`, so that tests that run at the same time don't remove each other's files.
  const source = join(root, "source");
  await mkdir(source);
  for (const name of ["package.json", "README.md", "LICENSE"])
    await copyFile(join(client, name), join(source, name));
  await symlink(join(client, "build.mjs"), join(source, "build.mjs"));
  // The script `prepack` builds the package first.
  await run(["npm", "pack", "--pack-destination", root], source);
  const tarball = join(root, (await readdir(root)).find((name) => name.endsWith(".tgz"))!);

  const directory = join(root, "installed");
  await mkdir(directory);
  await writeFile(join(directory, "package.json"), '{ "type": "module" }');
  await run(["npm", "install", "--offline", "--no-audit", "--no-fund", tarball], directory);
  for (const name of frameworks) {
    const link = join(directory, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(modules, name), link);
  }

  return {
    directory,
    tarball,
    async write(name, text) {
      await writeFile(join(directory, name), text);
      return join(directory, name);
    },
    run: (command, env) => run(command, directory, env),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}
