/**
 * Reports packages that a lock file should name and doesn't, and those without a checksum. `npm ci` fails if a lock
 * lacks the package of any platform, also of another one. npm leaves such a package out without a word if the registry
 * doesn't have it: then pin a version that the registry has for all platforms.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
let isComplete = true;
for (const path of ["package-lock.json", "bench/package-lock.json"]) {
  const { packages } = JSON.parse(readFileSync(root + path, "utf8"));
  for (const [folder, entry] of Object.entries(packages)) {
    for (const name of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }))
      if (!isLocked(packages, folder, name))
        report(path, `${folder || "the project"} needs ${name}, which is missing`);
    const isFetched = folder.includes("node_modules/") && !entry.link && !entry.inBundle;
    if (isFetched && !entry.integrity) report(path, `${folder} has no checksum`);
    if (entry.resolved && !entry.link) report(path, `${folder} names a download address`);
  }
}
process.exit(isComplete ? 0 : 1);

/** Whether Node would find the package from this folder: in its `node_modules`, or in that of a folder above. */
function isLocked(packages, folder, name) {
  for (let parent = folder; ; parent = parent.slice(0, Math.max(parent.lastIndexOf("/node_modules/"), 0))) {
    if (packages[`${parent && `${parent}/`}node_modules/${name}`]) return true;
    if (!parent) return false;
  }
}

function report(path, problem) {
  console.log(`${path}: ${problem}`);
  isComplete = false;
}
