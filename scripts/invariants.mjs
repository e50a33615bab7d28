/**
 * Reports invariants that name no check, or one that doesn't exist. With `--list`, prints all as a Markdown list.
 *
 * An invariant is a comment that begins with its name and ends with "Checked by" and the paths of tests or scripts, or
 * with "Not checked by a test:" and the reason.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
// New files too, before they are committed.
const listing = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
const folders = ["server", "dashboard", "client", "clients", "scripts"];
const files = execFileSync("git", [...listing, "--", ...folders], { cwd: root, encoding: "utf8" })
  .split("\0")
  .filter((path) => /\.(?:[cm]?[jt]sx?|css|sql)$/.test(path) && existsSync(root + path));

const invariants = files.flatMap(invariantsIn);
const problems = invariants.flatMap(problemsOf);
if (process.argv.includes("--list")) {
  for (const { path, line, text } of invariants) console.log(`- [${path}](${path}#L${line}): ${text}`);
}
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);

function invariantsIn(path) {
  const lines = readFileSync(root + path, "utf8").split("\n");
  return lines.flatMap((first, index) => {
    const begin = /(?:\/\*\*?|\*|\/\/|--) Invariant: (.*)$/.exec(first);
    if (!begin) return [];
    const texts = [begin[1]];
    // It goes on to the end of its paragraph.
    while (!texts.at(-1).endsWith("*/")) {
      const next = /^\s*(?:\*|\/\/|--) (?!@|Invariant: )(.*)$/.exec(lines[index + texts.length] ?? "");
      if (!next) break;
      texts.push(next[1]);
    }
    const text = texts.join(" ").replace(/\s*\*\/$/, "");
    return [{ path, line: index + 1, text }];
  });
}

function problemsOf({ path, line, text }) {
  const at = `${path}:${line}`;
  if (/Not checked by a test: \S.*\.$/.test(text)) return [];
  const [, checks] = /Checked by ((?:`[^`]+`(?:, | and )?)+)\.$/.exec(text) ?? [];
  if (!checks) return [`${at}: The invariant doesn't end with "Checked by" and paths, or a reason for none.`];
  return [...checks.matchAll(/`([^`]+)`/g)]
    .map(([, check]) => check)
    .filter(
      (check) => !/\.test\.tsx?$|^scripts\/.*\.mjs$|^server\/e2e\//.test(check) || !existsSync(root + check),
    )
    .map((check) => `${at}: ${check} is no test or script from the root of the repository.`);
}
