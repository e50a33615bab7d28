/** Builds the package into `dist`: the code with TypeScript, and icons and descriptions beside it as n8n looks for them. */
import { spawnSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL(".", import.meta.url));
const copied = /\.(?:svg|node\.json)$/;

rmSync(`${root}dist`, { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", root], { stdio: "inherit", shell: process.platform === "win32" });
if (status !== 0) process.exit(status ?? 1);
cpSync(`${root}nodes`, `${root}dist/nodes`, {
  recursive: true,
  filter: (path) => copied.test(path) || !/\.\w+$/.test(path),
});
