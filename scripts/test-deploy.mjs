/**
 * Tests what is in `deploy/` for real: builds the image and runs it, renders the chart, installs a release in a bare
 * Debian that systemd boots. As root on Debian, it first installs the programs that this needs with apt. Tests whose
 * programs are missing are skipped, with a sentence. The last line is "N passed, N failed".
 *
 *   node scripts/test-deploy.mjs [PATH …]
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
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

const missing = Object.keys(programs).filter((program) => spawnSync("which", [program]).status !== 0);
if (missing.length > 0 && process.getuid?.() === 0 && existsSync(aptGet)) {
  const packages = missing.map((program) => programs[program]);
  console.log(`Installing ${packages.join(", ")} with apt …`);
  const apt = (...args) =>
    spawnSync(aptGet, ["-qq", ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      encoding: "utf8",
    });
  apt("update");
  const { status, stderr } = apt("install", "--yes", "--no-install-recommends", ...packages);
  if (status !== 0) console.log(`apt could not install all of them.\n${stderr}`);
}
const paths = process.argv.slice(2);
const { status } = spawnSync(
  "node",
  [
    "scripts/test.mjs",
    "--long",
    ...(paths.length > 0 ? paths : ["deploy/test/", "scripts/release.test.mjs"]),
  ],
  { cwd: root, stdio: "inherit", env: { ...process.env, TIDINGS_TEST_ENGINE: "sqlite" } },
);
process.exit(status ?? 1);
