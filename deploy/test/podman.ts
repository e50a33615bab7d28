/**
 * Images and containers of the tests, in a storage of their own: what `podman images` shows does not change. They need
 * buildah, podman and runc, as root.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../clients/testing/programs.ts";
import { baseImages, containerfile, provideImage } from "./base-images.ts";
import { cache, root } from "./folders.ts";

/** The paths of sockets in it may have 108 bytes. */
const runroot = "/run/tidings-test-containers";
const missing = ["buildah", "podman", "runc", "mmdebstrap"].filter((program) => !Bun.which(program));
/** Why containers can't be tested here; null if they can. */
export const noContainers =
  process.platform !== "linux" || process.getuid?.() !== 0
    ? "containers are tested on Linux, as root"
    : missing.length > 0
      ? `containers need ${missing.join(", ")}: on Debian, run "apt-get install --no-install-recommends buildah podman runc mmdebstrap"`
      : null;

/** A limit that this process may pass on, such as "Max open files". Podman's own can be higher, which fails. */
function limitOf(name: string, enough: number): string {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const hard = new RegExp(`^${name}\\s+\\S+\\s+(\\d+)`, "m").exec(limits)?.[1] ?? enough;
  const limit = Math.min(Number(hard), enough);
  return `${limit}:${limit}`;
}

function containerEnvironment(): Record<string, string> {
  mkdirSync(cache, { recursive: true });
  const file = (name: string, text: string) => {
    const path = join(cache, name);
    writeFileSync(path, text);
    return path;
  };
  return {
    // Works on every file system, also inside a container.
    CONTAINERS_STORAGE_CONF: file(
      "storage.conf",
      `[storage]\ndriver = "vfs"\ngraphroot = "${join(cache, "storage")}"\nrunroot = "${runroot}"\n`,
    ),
    CONTAINERS_CONF: file(
      "containers.conf",
      [
        "[containers]",
        `default_ulimits = ["nofile=${limitOf("Max open files", 65_536)}", "nproc=${limitOf("Max processes", 4_096)}"]`,
        'log_driver = "k8s-file"',
        "[engine]",
        // No systemd is needed.
        'cgroup_manager = "cgroupfs"',
        'events_logger = "file"',
        'runtime = "runc"',
        "",
      ].join("\n"),
    ),
    CONTAINERS_REGISTRIES_CONF: file("registries.conf", 'unqualified-search-registries = ["docker.io"]\n'),
  };
}

const environment = noContainers === null ? containerEnvironment() : {};

/** Runs podman and returns its output. Throws if it fails. */
export function podman(...args: string[]): Promise<string> {
  return runProgram(["podman", ...args], root, environment);
}

/** Runs podman with an input, and returns how it ended. */
export async function tryPodman(args: string[], stdin = "") {
  const child = Bun.spawn(["podman", ...args], {
    env: { ...process.env, ...environment },
    stdin: new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, stdout, stderr };
}

/** Builds an image of this clone. */
export async function buildImage(tag: string): Promise<void> {
  for (const name of baseImages()) await provideBase(name);
  await runProgram(
    [
      ...["buildah", "bud", "--isolation", "chroot", "--network", "host", "--pull-never", "--layers"],
      // Health checks are not part of OCI's format.
      ...[
        "--format",
        "docker",
        "--volume",
        "/etc/ssl/certs:/etc/ssl/certs:ro",
        "--file",
        containerfile,
        "--tag",
        tag,
        ".",
      ],
    ],
    root,
    environment,
  );
}

/** Pulls an image, or makes its stand-in, unless it is there. Returns its full name. */
export async function provideBase(name: string): Promise<string> {
  const full = name.includes(".") ? name : `docker.io/library/${name}`;
  await provideImage(name, {
    has: async () => (await tryPodman(["image", "exists", full])).code === 0,
    pull: ["podman", "pull", "--quiet", full],
    environment,
    load: async (archive, options) => {
      await podman("import", "--quiet", ...options, archive, full);
    },
  });
  return full;
}

/** Marks the containers of a test file, which runs beside others. */
export const labelOf = (testFile: string) => `--label=tidings-test=${testFile}`;

/** Ends the containers with a test file's label, also those that an earlier run left, and removes them. */
export async function removeContainers(testFile: string): Promise<void> {
  const filter = `label=tidings-test=${testFile}`;
  const ids = (await podman("ps", "--all", "--quiet", "--filter", filter)).trim();
  if (ids !== "") await podman("rm", "--force", "--time", "0", "--volumes", ...ids.split("\n"));
}
