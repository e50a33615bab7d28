/**
 * Makes a release. Without `--commit` it only checks, and says what it would do.
 *
 *   npm run release -- 1.2.3                           checks, and lists what would change
 *   npm run release -- 1.2.3 --commit [--skip-tests]   changes the version everywhere, commits and tags
 *   npm run release -- artifacts [--releases ADDRESS] [TARGET …]
 *                                                      builds what is published, of the present version
 *
 * A release is published by pushing its tag: .github/workflows/release.yml then builds the artifacts. ADDRESS is where
 * install.sh finds releases, such as https://github.com/OWNER/tidings/releases.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildArtifacts } from "./artifacts.mjs";
import { changelogWithVersion, compareVersions, isVersion, withVersion, writeAll } from "./versions.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    commit: { type: "boolean", default: false },
    "skip-tests": { type: "boolean", default: false },
    releases: { type: "string" },
  },
});
const [what, ...targets] = positionals;
const { version: current } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

if (what === "artifacts") await buildArtifacts({ releases: values.releases, targets });
else if (what !== undefined && targets.length === 0) release(what);
else refuse("Name the version, or what to do: npm run release -- 1.2.3");

function release(version) {
  if (!isVersion(version))
    refuse(`${version} is no version, such as 1.2.3 or 1.2.3-rc.1 (https://semver.org).`);
  if (compareVersions(version, current) <= 0) refuse(`${version} must be newer than ${current}.`);
  const tag = `v${version}`;
  if (git("tag", "--list", tag) !== "") refuse(`The tag ${tag} exists.`);
  const files = withVersion(root, current, version);
  const date = new Date().toISOString().slice(0, 10);
  files.set(
    "CHANGELOG.md",
    changelogWithVersion(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version, date),
  );
  const changed = git("status", "--porcelain");
  if (!values.commit) {
    console.log(`${current} → ${version}. These files would change, in one commit with the tag ${tag}:`);
    for (const path of [...files.keys()].sort()) console.log(`  ${path}`);
    if (changed !== "") console.log(`First commit or remove what is changed here:\n${changed}`);
    console.log(`To do it: npm run release -- ${version} --commit`);
    return;
  }
  if (changed !== "") refuse(`Commit or remove what is changed here first:\n${changed}`);
  if (!values["skip-tests"]) run("npm", "test");
  writeAll(root, files);
  // Fails if a file that is generated from the version was forgotten.
  run("node", "scripts/check.mjs", "generated", "lock");
  git("commit", "--quiet", "--all", "--message", `Release ${version}`);
  git("tag", "--annotate", tag, "--message", `Tidings ${version}`);
  console.log(`Committed and tagged ${tag}. To publish it: git push --follow-tags`);
  console.log(`To undo it: git tag --delete ${tag} && git reset --hard HEAD~1`);
}

function git(...args) {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (status !== 0) refuse(`git ${args[0]}: ${stderr.trim()}`);
  return stdout.trimEnd();
}

function run(command, ...args) {
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) refuse(`${command} ${args.join(" ")} failed.`);
}

function refuse(message) {
  console.error(message);
  process.exit(1);
}
