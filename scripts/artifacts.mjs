/**
 * Builds what a release publishes into `build/release`: an executable for each platform, the npm packages, the Helm
 * chart, the unit and the script that install the service, the software bill of materials, the changes, and the
 * checksums of all of it.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { createGzip } from "node:zlib";
import { changesOf } from "./versions.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const build = join(root, "build");
const release = join(build, "release");

/** Bun's names of the platforms that have an executable. `deploy/install.sh` chooses among them. */
export const releaseTargets = [
  "bun-linux-x64",
  "bun-linux-arm64",
  "bun-linux-x64-musl",
  "bun-darwin-x64",
  "bun-darwin-arm64",
  "bun-windows-x64",
];

/**
 * @param releases - where install.sh finds releases; without it, install.sh needs `--from`
 * @param targets - platforms to build for; all of them if empty
 */
export async function buildArtifacts({ releases, targets }) {
  const unknown = targets.find((target) => !releaseTargets.includes(target));
  if (unknown) throw new Error(`${unknown} is not a platform. There are ${releaseTargets.join(", ")}.`);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  rmSync(release, { recursive: true, force: true });
  mkdirSync(release, { recursive: true });
  for (const target of targets.length > 0 ? targets : releaseTargets) await buildExecutable(target);
  buildPackages(version);
  buildChart(version);
  for (const name of ["tidings.service", "tidings-command"])
    copyFileSync(join(root, "deploy", name), join(release, name));
  writeInstaller(releases);
  const sbom = run("npm", ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev"]);
  writeFileSync(join(release, "tidings.cdx.json"), sbom);
  writeChanges(version);
  await writeChecksums();
  for (const name of readdirSync(release)) {
    const megabytes = (statSync(join(release, name)).size / 1e6).toFixed(1);
    console.log(`${megabytes.padStart(8)} MB  build/release/${name}`);
  }
}

/** Compressed, to half of its size, except for Windows, which has no gzip. */
async function buildExecutable(target) {
  run("node", ["scripts/bundle.mjs", "binary", target]);
  const name = target.replace(/^bun/, "tidings");
  if (target.includes("windows")) {
    copyFileSync(join(build, `${name}.exe`), join(release, `${name}.exe`));
    return;
  }
  await pipeline(
    createReadStream(join(build, name)),
    createGzip({ level: 9 }),
    createWriteStream(join(release, `${name}.gz`)),
  );
}

function buildPackages(version) {
  for (const kind of ["package", "client"]) run("node", ["scripts/bundle.mjs", kind]);
  for (const name of ["tidings", "tidings-client"])
    copyFileSync(join(build, `${name}-${version}.tgz`), join(release, `${name}-${version}.tgz`));
}

/** The same archive as `helm package` makes, by another name, which is not that of the npm package. */
function buildChart(version) {
  const owner = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
  const archive = join(release, `tidings-chart-${version}.tgz`);
  run("tar", ["-czf", archive, ...owner, "-C", join(root, "deploy/helm"), "tidings"]);
}

function writeInstaller(releases) {
  const text = readFileSync(join(root, "deploy/install.sh"), "utf8");
  const own = releases === undefined ? text : text.replace("@RELEASES@", releases.replace(/\/$/, ""));
  writeFileSync(join(release, "install.sh"), own, { mode: 0o755 });
}

/** A version that isn't released yet has its changes under "Unreleased". */
function writeChanges(version) {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  if (changelog.includes(`\n## ${version} - `))
    writeFileSync(join(release, "CHANGES.md"), changesOf(changelog, version));
  else console.log(`CHANGELOG.md has no version ${version}, so there is no CHANGES.md.`);
}

async function writeChecksums() {
  const lines = [];
  for (const name of readdirSync(release).sort()) {
    const hash = createHash("sha256");
    await pipeline(createReadStream(join(release, name)), hash);
    lines.push(`${hash.digest("hex")}  ${basename(name)}\n`);
  }
  writeFileSync(join(release, "SHA256SUMS"), lines.join(""));
}

/** Runs a command and returns its output, with its messages on standard error. */
function run(command, args) {
  const { status, stdout } = spawnSync(command, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    maxBuffer: 100_000_000,
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${stdout}`);
  return stdout;
}
