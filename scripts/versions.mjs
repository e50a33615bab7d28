/** The version of a release: where it stands in the repository, and how a release changes it everywhere at once. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Files in which every mention of the version is that of the release, besides manifests and locks. */
const texts = [
  "README.md",
  "client/README.md",
  "clients/go/README.md",
  "clients/go/client.go",
  "clients/php/Tidings.php",
  "clients/python/pyproject.toml",
  "clients/python/src/tidings/__init__.py",
  "clients/python/src/tidings/client.py",
  "clients/ruby/tidings.rb",
  "deploy/helm/tidings/Chart.yaml",
  "deploy/kubernetes/postgres.yaml",
  "deploy/kubernetes/restore.yaml",
  "deploy/kubernetes/sqlite.yaml",
  "deploy/quadlet/tidings.container",
  "docs/install.md",
  "docs/kubernetes.md",
  "integrations/n8n/README.md",
];
/** Files in which only the member `version` is the release's: packages can have the same version. */
const manifests = [
  "package.json",
  "bench/package.json",
  "client/package.json",
  "dashboard/package.json",
  "docs-site/package.json",
  "integrations/n8n/package.json",
  "server/package.json",
  // Generated, from the version of package.json.
  "docs/openapi.json",
];
const locks = ["package-lock.json", "bench/package-lock.json"];

/** All files that name the version. */
export const versionedFiles = [...texts, ...manifests, ...locks];

/** Semantic Versioning 2.0.0 without build metadata, which neither Docker's tags nor npm's order have. */
const versionPattern = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

export function isVersion(text) {
  return versionPattern.test(text);
}

/**
 * Compares two versions like a sort function (https://semver.org/#spec-item-11): a version with a suffix comes before
 * the one without.
 */
export function compareVersions(a, b) {
  const [, ...first] = versionPattern.exec(a);
  const [, ...second] = versionPattern.exec(b);
  for (let index = 0; index < 3; index++)
    if (first[index] !== second[index]) return Number(first[index]) - Number(second[index]);
  if (first[3] === second[3]) return 0;
  if (first[3] === undefined || second[3] === undefined) return first[3] === undefined ? 1 : -1;
  return compareSuffixes(first[3].split("."), second[3].split("."));
}

function compareSuffixes(a, b) {
  for (const [index, part] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (part === other) continue;
    const [isNumber, isOtherNumber] = [part, other].map((each) => /^\d+$/.test(each));
    if (isNumber && isOtherNumber) return Number(part) - Number(other);
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
    return part < other ? -1 : 1;
  }
  return -1;
}

/** Matches a version as a word of its own, and not a part of "10.1.0" or "0.1.0.1". */
export function mentionsOf(version) {
  return new RegExp(`(?<![\\d.])${version.replaceAll(".", "\\.")}(?!\\.?\\d)`, "g");
}

/**
 * Returns the texts of all files with the new version. Throws if a file doesn't name the present one: it has been
 * changed by hand, or no longer needs to be listed.
 *
 * @returns a map of paths to texts
 */
export function withVersion(root, from, to) {
  const changed = new Map();
  const change = (path, edit) => {
    const before = readFileSync(join(root, path), "utf8");
    const after = edit(before);
    if (after === before)
      throw new Error(`${path} does not name version ${from}, and is listed in scripts/versions.mjs.`);
    changed.set(path, after);
  };
  for (const path of texts) change(path, (text) => text.replace(mentionsOf(from), to));
  for (const path of manifests)
    change(path, (text) => text.replace(`"version": "${from}"`, `"version": "${to}"`));
  for (const path of locks) change(path, (text) => lockWithVersion(text, from, to));
  return changed;
}

function lockWithVersion(text, from, to) {
  const lock = JSON.parse(text);
  if (lock.version === from) lock.version = to;
  for (const [path, entry] of Object.entries(lock.packages))
    if (!path.includes("node_modules/") && entry.version === from) entry.version = to;
  return `${JSON.stringify(lock, null, 2)}\n`;
}

/**
 * Returns the changelog with its unreleased changes under a heading of the version. Throws if there are none.
 *
 * @param date - such as "2026-11-27"
 */
export function changelogWithVersion(text, version, date) {
  const heading = "## Unreleased\n";
  const start = text.indexOf(heading);
  const end = text.indexOf("\n## ", start + heading.length);
  const changes = text.slice(start + heading.length, end < 0 ? undefined : end);
  if (start < 0 || changes.trim() === "")
    throw new Error(`CHANGELOG.md has no changes under "${heading.trim()}".`);
  return text.replace(heading, `${heading}\n## ${version} - ${date}\n`);
}

/** The changes of a version, for the release's page. Throws if the changelog doesn't have it. */
export function changesOf(text, version) {
  const [, rest] = text.split(`\n## ${version} - `);
  if (rest === undefined) throw new Error(`CHANGELOG.md has no changes of ${version}.`);
  return `${rest.slice(rest.indexOf("\n")).split("\n## ")[0].trim()}\n`;
}

export function writeAll(root, files) {
  for (const [path, text] of files) writeFileSync(join(root, path), text);
}
