/**
 * Reports packages with known vulnerabilities (`npm audit`). Passes with a word if the registry doesn't answer, because
 * the other checks need no network.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const parameters = ["audit", "--json", "--fetch-retries=0", "--fetch-timeout=10000"];
const { stdout } = spawnSync("npm", parameters, {
  cwd: fileURLToPath(new URL("..", import.meta.url)),
  encoding: "utf8",
  shell: process.platform === "win32",
});
const { vulnerabilities } = parse(stdout);
if (!vulnerabilities) {
  console.log("skipped: the registry does not answer audits");
  process.exit(0);
}
// "info" and "low" are no reason to change a release.
const serious = Object.values(vulnerabilities).filter(({ severity }) => !["info", "low"].includes(severity));
for (const { name, severity } of serious) console.log(`${name}: ${severity}`);
if (serious.length > 0) console.log("See `npm audit`. SECURITY.md says how soon to update.");
process.exit(serious.length > 0 ? 1 : 0);

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
