import { afterAll, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromSource, runTidings } from "../../testing/server-process.ts";

/** The user of Tidings' image. */
const asOther = ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups"];
const canBeOther =
  process.getuid?.() === 0 &&
  Bun.which("setpriv") !== null &&
  Bun.spawnSync([...asOther, ...fromSource, "--version"]).exitCode === 0;
if (!canBeOther)
  console.log("Skipped: another user's directory needs root, setpriv, and code that all may read.");

const place = mkdtempSync(join(tmpdir(), "tidings-access-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

test.skipIf(!canBeOther)(
  "a directory or database of another user is refused, with the command that mends it",
  async () => {
    chmodSync(place, 0o755);
    const directory = join(place, "data");
    mkdirSync(directory, { mode: 0o755 });
    const start = async () => {
      const environment = { TIDINGS_DATA: directory, PORT: "0", HOST: "127.0.0.1" };
      return await runTidings(["serve"], environment, "", [...asOther, ...fromSource]);
    };
    const ofRoot = await start();
    expect([ofRoot.code, ofRoot.stderr]).toEqual([
      1,
      expect.stringContaining(
        `Tidings can't start: user 65532 may not read and write ${directory}, which belongs to user 0 and group 0, with mode 755. As root, run "chown -R 65532:65532 ${directory}"`,
      ),
    ]);
    chmodSync(directory, 0o700);
    expect((await start()).stderr).toContain(
      `${directory}, which belongs to user 0 and group 0, with mode 700`,
    );

    chownSync(directory, 65532, 65532);
    writeFileSync(join(directory, "tidings.db"), "", { mode: 0o600 });
    expect((await start()).stderr).toContain(`${join(directory, "tidings.db")}, which belongs to user 0`);
  },
);
