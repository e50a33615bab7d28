/** Builds the dashboard and the documentation into dashboard/dist, unless their sources are unchanged since the last build. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = `${root}dashboard/dist/.built-from`;
/** The build's sources: the dashboard, the server modules that it imports, the script of web pages, and the documentation. */
const sources = [
  "dashboard",
  "server/drop-in",
  "server/event",
  "server/core",
  "server/boards",
  "server/users",
  "server/transfer",
  "server/validation",
  "server/schemas",
  "package-lock.json",
  "docs-site",
  "docs",
  "client/README.md",
  "clients/python/README.md",
  "clients/go/README.md",
  "client/src/script",
  "client/website-script.mjs",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
];
const ignored = new Set(["node_modules", "dist", "screenshots"]);

const currentHash = hashOf(sources.flatMap((name) => filesIn(root + name)));
if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== currentHash) {
  console.log("Building the dashboard and the documentation …");
  const { status } = spawnSync("npm", ["run", "--silent", "build", "-w", "dashboard"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    shell: process.platform === "win32",
  });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, currentHash);
}

function filesIn(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => !ignored.has(entry.name))
    .flatMap((entry) => filesIn(`${path}/${entry.name}`));
}

function hashOf(files) {
  const hash = createHash("sha256");
  for (const file of files.sort())
    hash.update(file.slice(root.length)).update("\0").update(readFileSync(file));
  return hash.digest("hex");
}
