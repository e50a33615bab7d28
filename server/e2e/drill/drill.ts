/**
 * Runs two Tidings nodes behind Caddy, on three PostgreSQL servers under Patroni, with the files of
 * `deploy/postgres-failover/`, and lets parts of it fail while clients write, read and stream. Prints a table of what
 * the clients noticed, and fails if an acknowledged event is lost or doubled, or missing in a stream.
 *
 * It runs in namespaces of its own: processes, network and mounts end with it, and nothing outside can reach it. It needs
 * Linux, the Debian packages that `requirements.ts` lists, and either root or user namespaces.
 *
 * @example
 * npm run drill                                               # all faults, 50 in all, half an hour
 * npm run drill -- --only primary-killed,switchover --times 1
 * npm run drill -- --only node-paused --seconds 60            # how long a fault lasts
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { missingRequirement } from "./requirements.ts";

const missing = missingRequirement();
if (missing !== null) {
  console.error(missing);
  process.exit(2);
}

const isRoot = process.getuid?.() === 0;
const directory = mkdtempSync(join(tmpdir(), "tidings-drill-"));
/** Without root, a user namespace gives the rights over the other namespaces, and nothing outside of them. */
const asUser = isRoot ? [] : ["--user", "--map-current-user", "--keep-caps"];
// The shell is the first process of its namespace. It reaps what killed processes leave behind; Bun would not, and
// PostgreSQL does not start while its former process is a zombie.
const shell = ["sh", "-c", '"$@"; exit $?', "sh"];
const child = Bun.spawn(
  [
    ...["setpriv", "--pdeathsig", "KILL"],
    ...["unshare", ...asUser, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
    ...shell,
    ...[process.execPath, join(import.meta.dir, "inside.ts"), directory, ...process.argv.slice(2)],
  ],
  { stdio: ["ignore", "inherit", "inherit"] },
);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => child.kill("SIGKILL"));

const code = await child.exited;
if (code === 1) console.error(`The logs are in ${directory}.`);
else rmSync(directory, { recursive: true, force: true });
process.exit(child.signalCode === null ? code : 130);
