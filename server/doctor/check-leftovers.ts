import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { replacedMark, snapshotDays, snapshotsIn } from "../storage/sqlite/open.ts";
import { scratchIn } from "../storage/sqlite/scratch.ts";
import { type Finding, ok, warning } from "./finding.ts";

const dayMs = 86_400_000;

type Leftover = { name: string; bytes: number; until: string; isOld: boolean };

/** Lists what upgrades, restores and commands left in the data directory, and when it may go. */
export function checkLeftovers(dataDirectory: string, nowMs = Date.now()): Finding {
  const ageDays = (file: string) => (nowMs - statSync(file).mtimeMs) / dayMs;
  const snapshots = snapshotsIn(dataDirectory).map(({ file, before }): Leftover => {
    const left = Math.ceil(snapshotDays - ageDays(file));
    return {
      name: basename(file),
      bytes: statSync(file).size,
      until: `the state before the upgrade to schema ${before}, for "tidings rollback"; the server deletes it ${left > 1 ? `in ${left} days` : "within a day"}`,
      isOld: false,
    };
  });
  const replaced = readdirSync(dataDirectory)
    .filter((name) => name.startsWith(replacedMark))
    .map((name): Leftover => {
      const directory = join(dataDirectory, name);
      return {
        name,
        bytes: bytesIn(directory),
        until: "what a restore replaced; delete it when you no longer need it",
        isOld: ageDays(directory) > snapshotDays,
      };
    });
  const scratch = scratchIn(dataDirectory).map(
    (directory): Leftover => ({
      name: basename(directory),
      bytes: bytesIn(directory),
      until: "of a command that runs or was killed; the next command deletes it if it was killed",
      isOld: false,
    }),
  );
  const found = [...snapshots, ...replaced, ...scratch];
  if (found.length === 0) return ok("leftovers", "There are none of upgrades, restores and commands.");
  const detail = `${found.map(({ name, bytes, until }) => `${name} (${megabytes(bytes)}): ${until}`).join(". ")}.`;
  return found.some(({ isOld }) => isOld)
    ? warning(
        "leftovers",
        detail,
        `Delete what is more than ${snapshotDays} days old, such as with rm -r, if nobody needs it.`,
      )
    : ok("leftovers", detail);
}

function bytesIn(directory: string): number {
  return readdirSync(directory).reduce(
    (sum, name) => sum + (statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;
}
