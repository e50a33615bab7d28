/**
 * Installs the packages in package-lock.json, unless they are installed: those that the server and the dashboard's
 * build need, and with `--all` those of the checks and tests too. Plain Node without dependencies, because `npm start`
 * and `npm test` run it first in a fresh clone.
 *
 * A fresh clone gets `npm ci`, which fails if lock file and package.json differ. Later changes are installed with
 * `npm install --no-save`: the same locked versions, without removing `node_modules` first, from which a server may
 * be running.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Records what was installed: all packages, or only those needed to run. */
const stamp = `${root}node_modules/.tidings-installed`;
const manifests = [
  "package-lock.json",
  "package.json",
  "server/package.json",
  "dashboard/package.json",
  "client/package.json",
  "docs-site/package.json",
];

const requested = process.argv.includes("--all") ? "all" : "run";
const isFresh = !existsSync(`${root}node_modules`);
const version = createHash("sha256")
  .update(manifests.map((name) => readFileSync(root + name, "utf8")).join("\0"))
  .update(process.platform + process.arch)
  .digest("hex");
const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
// A full installation can also run, and is kept, so that alternating between the two never reinstalls.
const isInstalled = [`all ${version}`, `${requested} ${version}`].includes(installed);

if (!isInstalled) {
  const set = installed.startsWith("all ") ? "all" : requested;
  console.log(`Installing packages (once${set === "all" ? ", with those of the tests" : ""}) …`);
  const { status } = spawnSync(
    "npm",
    [
      ...(isFresh ? ["ci"] : ["install", "--no-save"]),
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
