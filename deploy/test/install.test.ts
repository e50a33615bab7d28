/**
 * `deploy/install.sh` in a bare Debian: installs a release from a server, runs it as a service, upgrades it, goes back if
 * the new version doesn't start, and removes it. `npm run test:deploy` installs what this needs.
 */
// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../../clients/testing/programs.ts";
import { version } from "../../server/config/config.ts";
import { patienceMs } from "../../server/testing/engine.ts";
import { until } from "../../server/testing/until.ts";
import { bootDebian, noDebian } from "./debian.ts";
import { root } from "./folders.ts";

const port = 8042;
const releases = `http://127.0.0.1:${port}`;
const executable = `tidings-linux-${process.arch}.gz`;

const hasShellcheck = Bun.which("shellcheck") !== null;
if (!hasShellcheck) console.log("Skipped: the scripts are not checked, because shellcheck is missing.");
test.skipIf(!hasShellcheck)("shellcheck finds nothing in the scripts", async () => {
  await runProgram(["shellcheck", "deploy/install.sh", "deploy/tidings-command"], root);
});

if (noDebian !== null) console.log(`Skipped: ${noDebian}.`);
describe.skipIf(noDebian !== null)("the installer", () => {
  let files: string;
  let debian: Awaited<ReturnType<typeof bootDebian>>;

  beforeAll(async () => {
    const target = `bun-linux-${process.arch}`;
    await runProgram(["node", "scripts/release.mjs", "artifacts", "--releases", releases, target], root);
    files = mkdtempSync(join(tmpdir(), "tidings-releases-"));
    const latest = join(files, "latest/download");
    cpSync(join(root, "build/release"), latest, { recursive: true });
    for (const [name, change] of [
      ["v9.0.0", breakProgram],
      ["v9.0.1", damage],
    ] as const) {
      const folder = join(files, "download", name);
      mkdirSync(folder, { recursive: true });
      cpSync(latest, folder, { recursive: true });
      await change(folder);
    }
    debian = await bootDebian();
    debian.startBeside([process.execPath, join(import.meta.dir, "serve-files.ts"), files, `${port}`]);
    await until(
      async () => (await debian.run(`curl -fsS ${releases}/latest/download/SHA256SUMS`)).code === 0,
    );
  }, 900_000);
  afterAll(async () => {
    await debian?.[Symbol.asyncDispose]();
    if (files) rmSync(files, { recursive: true });
  });

  /** A version that can say what it is, and not run. */
  async function breakProgram(folder: string) {
    const program = join(folder, "program");
    writeFileSync(
      program,
      '#!/bin/sh\n[ "$1" = --version ] && echo 9.0.0 && exit\necho "cannot run" >&2\nexit 1\n',
    );
    chmodSync(program, 0o755);
    await runProgram(
      ["sh", "-c", `gzip -c program >${executable} && sha256sum ${executable} >SHA256SUMS.new`],
      folder,
    );
    await runProgram(
      ["sh", "-c", `grep -v ' ${executable}$' SHA256SUMS >>SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS`],
      folder,
    );
  }

  /** A download that is not what was published. */
  function damage(folder: string) {
    const bytes = readFileSync(join(folder, executable));
    bytes[1_000]! ^= 1;
    writeFileSync(join(folder, executable), bytes);
  }

  const install = (options = "") =>
    debian.run(`curl -fsSL ${releases}/latest/download/install.sh | sh -s -- ${options}`);
  const ok = async (line: string, stdin = "") => {
    const { code, stdout, stderr } = await debian.run(line, stdin);
    expect({ line, code, stdout, stderr }).toMatchObject({ code: 0 });
    return stdout.trim();
  };
  const show = (property: string) => ok(`systemctl show --property=${property} --value tidings`);
  const untilReady = () =>
    until(async () => (await debian.run("curl -fsS localhost:4242/readyz")).code === 0, patienceMs);

  let key: string;

  test("installs the newest release, starts it as a service, and says what to do next", async () => {
    const { code, stdout, stderr } = await install();
    console.log(stdout + stderr);
    expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toMatch(
      /Open this link to create your account: http:\/\/localhost:4242\/setup\?token=\S+\n/,
    );
    expect(await ok("systemctl is-active tidings")).toBe("active");
    expect(await ok("systemctl is-enabled tidings")).toBe("enabled");
    expect(await ok("tidings --version")).toStartWith(version);
    const pid = await show("MainPID");
    expect(await ok(`ps -o user= -p ${pid}`)).toBe("tidings");
    const status = await ok(`cat /proc/${pid}/status`);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp_filters:\t[1-9]/m);
    expect(await ok("stat -c '%U %a' /var/lib/tidings /etc/tidings/tidings.env")).toBe(
      "tidings 700\nroot 600",
    );
  });

  test("commands run as the service, and backups go where the unit allows", async () => {
    await ok(
      "tidings-command account create --email ada@example.com --password-stdin",
      "correct horse battery",
    );
    key = await ok("tidings-command key create --project default --name CI");
    await ok(
      `curl -fsS -H "x-api-key: ${key}" -H "content-type: application/json" -d '{"channel":"a","name":"First"}' localhost:4242/api/events`,
    );
    const diagnosis = (await debian.run("tidings-command doctor")).stdout;
    expect(diagnosis).toContain("ok   database file: No fault found.");
    expect(diagnosis).not.toContain("FAIL");
    await ok("install -d -o tidings -m 700 /mnt/backups");
    await ok("echo TIDINGS_BACKUP_TO=/mnt/backups >>/etc/tidings/tidings.env && systemctl restart tidings");
    await untilReady();
    const log = () => ok("journalctl --unit tidings --output cat --no-pager");
    await until(async () => (await log()).includes("made a scheduled backup"), patienceMs);
    expect(await ok("tidings-command backup")).toStartWith("/mnt/backups/tidings-");
    expect(await ok("stat -c %U /mnt/backups/*.zst | sort -u")).toBe("tidings");
  });

  test("is started again after a crash, and if it hangs", async () => {
    const restarts = Number(await show("NRestarts"));
    await ok("systemctl kill --kill-whom=main --signal=KILL tidings");
    await until(async () => Number(await show("NRestarts")) === restarts + 1, patienceMs);
    await untilReady();
    await ok("mkdir -p /run/systemd/system/tidings.service.d");
    await ok(
      "printf '[Service]\\nWatchdogSec=2\\nTimeoutAbortSec=2\\n' >/run/systemd/system/tidings.service.d/fast.conf",
    );
    await ok("systemctl daemon-reload && systemctl restart tidings");
    await untilReady();
    const pid = await show("MainPID");
    await ok(`kill -STOP ${pid}`);
    await until(async () => !["0", pid].includes(await show("MainPID")), patienceMs);
    await untilReady();
    await ok("rm -r /run/systemd/system/tidings.service.d && systemctl daemon-reload");
  });

  const listed = async () =>
    (
      JSON.parse(await ok(`curl -fsS -H "x-api-key: ${key}" localhost:4242/api/events`)) as {
        events: unknown[];
      }
    ).events;

  test("an upgrade keeps data and settings", async () => {
    const { code, stdout, stderr } = await install(`--from ${releases}`);
    expect({ code, stdout, stderr }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Tidings was upgraded from"),
    });
    expect(await listed()).toHaveLength(1);
    expect(await ok("cat /etc/tidings/tidings.env")).toContain("TIDINGS_BACKUP_TO=/mnt/backups");
    expect((await debian.run("ls /usr/local/bin/.tidings*")).code).not.toBe(0);
  });

  test("a version that does not start is replaced by the old one", async () => {
    const { code, stderr } = await install("--version 9.0.0");
    expect(code).toBe(1);
    expect(stderr).toContain("cannot run");
    expect(stderr).toContain("runs again, and nothing was lost");
    expect(await ok("tidings --version")).toStartWith(version);
    expect(await listed()).toHaveLength(1);
    // A service that is stopped has a way back too.
    await ok("systemctl stop tidings && echo '# old' >>/usr/local/bin/tidings-command");
    expect((await install("--version 9.0.0")).stderr).toContain("runs again, and nothing was lost");
    expect(await listed()).toHaveLength(1);
    expect(await ok("tail -n 1 /usr/local/bin/tidings-command")).toBe("# old");
  });

  test("a damaged download and a missing version change nothing", async () => {
    const damaged = await install("--version 9.0.1");
    expect(damaged).toMatchObject({ code: 1, stderr: expect.stringContaining("differs from its checksum") });
    const missing = await install("--version 9.9.9");
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("could not be downloaded") });
    const unknown = await install("--fast");
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("--fast is no option") });
    const asUser = await debian.run(
      `curl -fsSL ${releases}/latest/download/install.sh | setpriv --reuid=65534 sh`,
    );
    expect(asUser).toMatchObject({ code: 1, stderr: expect.stringContaining("run it as root") });
    expect(await listed()).toHaveLength(1);
  });

  test("is removed without its data", async () => {
    expect((await install("--uninstall")).stdout).toContain("Its data is still in /var/lib/tidings");
    expect((await debian.run("systemctl is-active tidings")).stdout.trim()).toBe("inactive");
    expect((await debian.run("command -v tidings tidings-command")).code).not.toBe(0);
    await ok("test -s /var/lib/tidings/tidings.db");
    // Installed again, it has the same data.
    expect((await install("--no-start")).stdout).toContain("systemctl enable --now tidings");
    expect((await install()).stdout).toContain("Tidings runs as the service tidings");
    expect(await ok("systemctl is-enabled tidings")).toBe("enabled");
    await untilReady();
    expect(await listed()).toHaveLength(1);
  });
});
