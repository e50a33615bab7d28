/**
 * Installs what package-lock.json names, where it is not installed already: what the server and the dashboard's build need, and with `--all`
 * what the checks and the tests need as well. Plain Node without dependencies: it is what `npm start` and `npm test` run first in a fresh
 * clone.
 *
 * `npm install --no-save` rather than `npm ci`: it takes the same locked versions and leaves the lock file alone, but does not
 * fail where a registry lacks an optional package of another platform.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Holds what was installed: all of it, or what is needed to run. */
const stamp = `${root}node_modules/.tidings-installed`;
const manifests = [
  "package-lock.json",
  "package.json",
  "server/package.json",
  "dashboard/package.json",
  "client/package.json",
];

const wanted = process.argv.includes("--all") ? "all" : "run";
const version = createHash("sha256")
  .update(manifests.map((name) => readFileSync(root + name, "utf8")).join("\0"))
  .update(process.platform + process.arch)
  .digest("hex");
const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
// Whoever has it all has what it takes to run, and keeps it: nobody who goes from one to the other and back installs anything twice.
const isInstalled = [`all ${version}`, `${wanted} ${version}`].includes(installed);

if (!isInstalled) {
  const set = installed.startsWith("all ") ? "all" : wanted;
  console.log(`Installing packages (once${set === "all" ? ", with those of the tests" : ""}) …`);
  const { status } = spawnSync(
    "npm",
    [
      "install",
      "--no-save",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
      ...(set === "all" ? ["--include=dev"] : ["--omit=dev"]),
    ],
    {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
      shell: process.platform === "win32",
    },
  );
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, `${set} ${version}`);
}
