import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { version } from "../config/config.ts";

/** `scripts/bundle.mjs` replaces it in the npm package and in executables. */
declare const TIDINGS_COMMIT: string | undefined;

let known: string | null | undefined;

/** The commit that this program is from, shortened; null if that is unknown, as in source code without its repository. */
export function programCommit(): string | null {
  known ??= typeof TIDINGS_COMMIT === "string" ? TIDINGS_COMMIT || null : commitOfRepository();
  return known;
}

/** The version and the commit, such as `0.1.0 (8637257abcde)`. */
export function fullVersion(): string {
  const commit = programCommit();
  return commit === null ? version : `${version} (${commit})`;
}

function commitOfRepository(): string | null {
  const repository = join(import.meta.dir, "../../.git");
  if (!existsSync(repository)) return null;
  const { status, stdout } = spawnSync("git", ["--git-dir", repository, "rev-parse", "--short=12", "HEAD"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return status === 0 ? stdout.trim() : null;
}
