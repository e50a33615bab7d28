/** A bare Debian that systemd boots in a container of systemd-nspawn, with a network of its own. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../clients/testing/programs.ts";
import { until } from "../../server/testing/until.ts";
import { root } from "./folders.ts";

const cache = join(root, "node_modules/.cache/tidings-debian");
const base = join(cache, "bookworm");
const packages = "systemd,systemd-sysv,dbus,procps,curl,ca-certificates";
const bootMs = 120_000;

const missing = ["mmdebstrap", "systemd-nspawn", "nsenter"].filter((program) => !Bun.which(program));
/** Why no Debian can boot here; null if one can. */
export const noDebian =
  process.platform !== "linux" || process.getuid?.() !== 0
    ? "an installation is tested on Linux, as root"
    : missing.length > 0
      ? `an installation needs ${missing.join(", ")}: on Debian, run "apt-get install --no-install-recommends mmdebstrap systemd-container"`
      : null;

type Ended = { code: number; stdout: string; stderr: string };

/** Boots it. The first run in a clone makes its file system, of Debian's packages. */
export async function bootDebian() {
  mkdirSync(cache, { recursive: true });
  if (!existsSync(base)) {
    const made = mkdtempSync(join(cache, "making-"));
    await runProgram(
      ["mmdebstrap", "--quiet", "--variant=minbase", `--include=${packages}`, "bookworm", made],
      cache,
    );
    await runProgram(["mv", made, base], cache);
  }
  const directory = mkdtempSync(join(cache, "run-"));
  await runProgram(["cp", "-a", `${base}/.`, directory], cache);
  const booting = Bun.spawn(
    [
      "systemd-nspawn",
      "--quiet",
      "--register=no",
      "--keep-unit",
      "--private-network",
      "-D",
      directory,
      "--boot",
    ],
    { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
  );
  let init = 0;
  await until(() => {
    init = initOf(booting.pid);
    return init > 0;
  }, bootMs).catch((error) => {
    booting.kill("SIGKILL");
    throw error;
  });
  const enter = (namespaces: string[], command: string[], stdin = "") =>
    Bun.spawn(["nsenter", "--target", `${init}`, ...namespaces, ...command], {
      env: { PATH: process.env.PATH!, HOME: "/root", LC_ALL: "C.UTF-8" },
      stdin: new Blob([stdin]),
      stdout: "pipe",
      stderr: "pipe",
    });
  const beside: Bun.Subprocess[] = [];
  const debian = {
    /** Runs a line of shell inside. */
    async run(line: string, stdin = ""): Promise<Ended> {
      const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
      const child = enter(["--all"], ["/usr/bin/env", path, "/bin/sh", "-c", line], stdin);
      const [stdout, stderr] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      return { code: await child.exited, stdout, stderr };
    },
    /** Runs a program of this machine in the container's network, until the container ends. */
    startBeside(command: string[]): void {
      beside.push(enter(["--net"], command));
    },
    async [Symbol.asyncDispose]() {
      for (const child of beside) child.kill("SIGKILL");
      // All of the container ends with its first process.
      process.kill(init, "SIGKILL");
      await booting.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
  await until(
    async () => /running|degraded/.test((await debian.run("systemctl is-system-running")).stdout),
    bootMs,
  );
  return debian;
}

/** The container's first process, by its number on this machine; 0 if there is none. */
function initOf(nspawnPid: number): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const found = pids.find((pid) => {
    try {
      // Its number inside comes second (proc_pid_status(5)).
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      return status.includes(`\nPPid:\t${nspawnPid}\n`) && /^NSpid:\t\d+\t1$/m.test(status);
    } catch {
      // It ended meanwhile.
      return false;
    }
  });
  return Number(found ?? 0);
}
