import { expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { releaseTargets } from "./artifacts.mjs";
import {
  changelogWithVersion,
  changesOf,
  compareVersions,
  isVersion,
  mentionsOf,
  versionedFiles,
  withVersion,
} from "./versions.mjs";

const root = join(import.meta.dir, "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Files that have the same number for another reason. */
const others = [
  // An address.
  "server/notifications/outbound.test.ts",
  // An example.
  "server/process/version.ts",
  // Any version does for a module that stands in a folder.
  "server/testing/example-programs.ts",
];

test("every file that names the version is changed by a release, and nothing else is", () => {
  const { stdout } = Bun.spawnSync(["git", "grep", "-IlF", version], { cwd: root });
  const naming = stdout
    .toString()
    .trim()
    .split("\n")
    .filter((path) => mentionsOf(version).test(readFileSync(join(root, path), "utf8")))
    .filter((path) => !others.includes(path) && path !== "CHANGELOG.md");
  expect(naming.sort()).toEqual(versionedFiles.toSorted());

  const changed = withVersion(root, version, "98.7.6");
  for (const [path, text] of changed) {
    const lines = readFileSync(join(root, path), "utf8").split("\n");
    for (const [index, line] of text.split("\n").entries())
      if (line !== lines[index])
        expect([path, line.replaceAll("98.7.6", version)]).toEqual([path, lines[index]]);
  }
  const lock = JSON.parse(changed.get("package-lock.json"));
  const own = Object.entries(lock.packages).filter(([, entry]) => entry.version === "98.7.6");
  expect(own.map(([path]) => path)).toEqual(["", "client", "dashboard", "docs-site", "server"]);
});

test("versions have the order of Semantic Versioning", () => {
  // https://semver.org/#spec-item-11
  const ordered = [
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "2.0.0",
    "2.1.0",
    "2.1.1",
    "2.10.0",
  ];
  for (const [a, first] of ordered.entries())
    for (const [b, second] of ordered.entries())
      expect([first, second, Math.sign(compareVersions(first, second))]).toEqual([
        first,
        second,
        Math.sign(a - b),
      ]);
  for (const text of ["1.2", "v1.2.3", "1.2.3+build", "1.2.3-", "1.2.3 ", ""])
    expect([text, isVersion(text)]).toEqual([text, false]);
});

test("a release heads the unreleased changes, and later finds them", () => {
  const before = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n\n## 1.0.0 - 2026-01-01\n\n- B.\n";
  const after = changelogWithVersion(before, "1.1.0", "2026-02-03");
  expect(after).toBe(
    "# Changelog\n\n## Unreleased\n\n## 1.1.0 - 2026-02-03\n\n### Added\n\n- A.\n\n## 1.0.0 - 2026-01-01\n\n- B.\n",
  );
  expect(changesOf(after, "1.1.0")).toBe("### Added\n\n- A.\n");
  expect(changesOf(after, "1.0.0")).toBe("- B.\n");
  expect(() => changelogWithVersion(after, "1.2.0", "2026-02-04")).toThrow("no changes");
});

test("a release needs a newer version", () => {
  for (const [given, message] of [
    ["1.2", "is no version"],
    ["0.0.1", "must be newer"],
    [version, "must be newer"],
  ]) {
    const { exitCode, stderr } = Bun.spawnSync(["node", "scripts/release.mjs", given], { cwd: root });
    expect([given, exitCode, stderr.toString()]).toEqual([given, 1, expect.stringContaining(message)]);
  }
});

/** Runs something in a clone that has a change to release. */
function withClone(use) {
  const clone = mkdtempSync(join(tmpdir(), "tidings-release-"));
  const run = (...command) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: clone });
    expect({ command, exitCode, stderr: stderr.toString() }).toMatchObject({ exitCode: 0 });
    return stdout.toString().trim();
  };
  try {
    run("git", "clone", "--quiet", "--shared", root, ".");
    run("git", "config", "user.email", "release@example.com");
    run("git", "config", "user.name", "Release");
    appendFileSync(join(clone, ".git/info/exclude"), "/node_modules\n");
    symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
    const changelog = join(clone, "CHANGELOG.md");
    const text = readFileSync(changelog, "utf8");
    writeFileSync(changelog, text.replace("## Unreleased\n", "## Unreleased\n\n- A change.\n"));
    run("git", "commit", "--quiet", "--all", "--message", "A change");
    use(run);
  } finally {
    rmSync(clone, { recursive: true });
  }
}

test("without --commit, a release changes nothing", () => {
  withClone((run) => {
    const state = () => [
      run("git", "status", "--porcelain"),
      run("git", "tag"),
      run("git", "rev-parse", "HEAD"),
    ];
    const before = state();
    expect(run("node", "scripts/release.mjs", "98.7.6")).toContain("deploy/helm/tidings/Chart.yaml");
    expect(state()).toEqual(before);
  });
});

test.if(process.env.TIDINGS_TEST_LONG === "1")(
  "with --commit, the version is everywhere, committed and tagged, and the command to undo it does",
  () => {
    withClone((run) => {
      const before = [run("git", "rev-parse", "HEAD"), run("git", "tag")];
      const printed = run("node", "scripts/release.mjs", "98.7.6", "--commit", "--skip-tests");
      expect(printed).toContain("Committed and tagged v98.7.6.");
      expect(run("git", "describe", "--exact-match")).toBe("v98.7.6");
      expect(run("git", "status", "--porcelain")).toBe("");
      const files = run("git", "diff", "--name-only", "HEAD~1").split("\n");
      expect(files).toEqual(["CHANGELOG.md", ...versionedFiles].sort());
      run("sh", "-c", /To undo it: (.*)/.exec(printed)[1]);
      expect([run("git", "rev-parse", "HEAD"), run("git", "tag")]).toEqual(before);
    });
  },
  120_000,
);

test("the installer chooses among the executables of a release", () => {
  const installer = readFileSync(join(root, "deploy/install.sh"), "utf8");
  for (const target of releaseTargets) {
    const [, os, arch, libc] = target.split("-");
    expect(installer).toContain(`os=${os}`.replace("os=windows", "tidings-windows-x64.exe"));
    expect(installer).toContain(`arch=${arch}`);
    if (libc) expect(installer).toContain(`libc=-${libc}`);
  }
});
