/**
 * Tests what is in `deploy/` for real: builds the image and runs it, also with Docker Compose where its daemon runs,
 * renders the chart, and installs a release in a bare Debian that systemd boots; and the alerts, with promtool. As root on
 * Debian, it first gets the programs that this needs with apt. Tests whose programs are missing are skipped, with a
 * sentence. The last line is "N passed, N failed".
 *
 *   node scripts/test-deploy.mjs [PATH …]
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const aptGet = "/usr/bin/apt-get";
const programs = {
  buildah: "buildah",
  podman: "podman",
  runc: "runc",
  mmdebstrap: "mmdebstrap",
  "systemd-nspawn": "systemd-container",
  shellcheck: "shellcheck",
  catatonit: "catatonit",
  unzip: "unzip",
};
/** Packages whose programs are taken out of them: installed, they would start a server. */
const unpacked = { promtool: "prometheus" };
const unpackedRoot = join(root, "node_modules/.cache/tidings-programs");
const searchPath = `${process.env.PATH}:${join(unpackedRoot, "usr/bin")}`;

const isMissing = (program) => spawnSync("which", [program], { env: { PATH: searchPath } }).status !== 0;
const missing = Object.keys(programs).filter(isMissing);
const missingUnpacked = Object.keys(unpacked).filter(isMissing);
if (missing.length + missingUnpacked.length > 0 && process.getuid?.() === 0 && existsSync(aptGet)) {
  console.log(`Getting ${[...missing, ...missingUnpacked].join(", ")} with apt …`);
  apt("update");
  if (missing.length > 0)
    apt("install", "--yes", "--no-install-recommends", ...missing.map((program) => programs[program]));
  for (const program of missingUnpacked) unpack(unpacked[program]);
}
const testPaths = process.argv.slice(2);
const usual = ["deploy/test/", "scripts/release.test.mjs", "server/metrics/metrics.test.ts"];
const { status } = spawnSync(
  "node",
  ["scripts/test.mjs", "--long", ...(testPaths.length > 0 ? testPaths : usual)],
  {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, PATH: searchPath, TIDINGS_TEST_ENGINE: "sqlite" },
  },
);
process.exit(status ?? 1);

function apt(...args) {
  run(aptGet, ["-qq", ...args], { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } });
}

function unpack(name) {
  mkdirSync(unpackedRoot, { recursive: true });
  run(aptGet, ["-qq", "download", name], { cwd: unpackedRoot });
  for (const file of readdirSync(unpackedRoot).filter((entry) => entry.startsWith(`${name}_`)))
    run("dpkg-deb", ["--extract", file, "."], { cwd: unpackedRoot });
}

function run(command, args, options) {
  const { status: code, stderr } = spawnSync(command, args, { ...options, encoding: "utf8" });
  if (code !== 0) console.log(`${command} ${args.join(" ")} ended with ${code}.\n${stderr}`);
}
