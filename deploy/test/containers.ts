/**
 * Images and containers of the tests, in a storage of their own: what `podman images` shows does not change. They need
 * buildah, podman and runc, as root. Where no registry answers, mmdebstrap makes stand-ins for the base images out of
 * Debian's packages.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../clients/testing/programs.ts";

export const root = join(import.meta.dir, "../..");
const cache = join(root, "node_modules/.cache/tidings-containers");
/** The paths of sockets in it may have 108 bytes. */
const runroot = "/run/tidings-test-containers";
/** How long a registry may take to begin with a base image. */
const pullMs = 60_000;
export const imageUser = 65532;

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
  const file = "deploy/Containerfile";
  const bases = [...readFileSync(join(root, file), "utf8").matchAll(/^FROM (\S+)/gm)].map(
    ([, name]) => name!,
  );
  for (const name of bases) await provideBase(name);
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
        file,
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
  if ((await tryPodman(["image", "exists", full])).code === 0) return full;
  const pull = await Promise.race([
    tryPodman(["pull", "--quiet", full]),
    Bun.sleep(pullMs).then(() => ({ code: 1 })),
  ]);
  if (pull.code === 0) return full;
  await withStandIn(name, async (archive, changes) => {
    await podman("import", "--quiet", ...changes, archive, full);
  });
  return full;
}

/**
 * Makes the stand-in of an image that can't be pulled: an archive of its file system, and the options of an import that
 * set the rest.
 */
export async function withStandIn(
  name: string,
  use: (archive: string, changes: string[]) => Promise<void>,
): Promise<void> {
  const makeRoot = standIns.find(([pattern]) => pattern.test(name))?.[1];
  if (!makeRoot)
    throw new Error(`${name} can't be pulled, and has no stand-in in deploy/test/containers.ts.`);
  console.log(`${name} can't be pulled: a stand-in is made of Debian's packages.`);
  mkdirSync(cache, { recursive: true });
  const directory = mkdtempSync(join(cache, "base-"));
  const archive = join(directory, "base.tar");
  await runProgram(["mmdebstrap", "--quiet", ...makeRoot(), "bookworm", archive], directory, {
    TMPDIR: directory,
  });
  await use(archive, await settingsOf(name));
  rmSync(directory, { recursive: true });
}

/** The stand-ins: how mmdebstrap makes the file system of each base image. */
const standIns: [RegExp, () => string[]][] = [
  [/^node:/, nodeRoot],
  [/\/distroless\/cc-debian12:nonroot$/, distrolessRoot],
  [/^postgres:/, postgresRoot],
  [/^caddy:/, caddyRoot],
];

/** Debian with this machine's Node and npm. */
function nodeRoot(): string[] {
  const node = Bun.which("node")!;
  const npm = new URL("..", Bun.pathToFileURL(realPathOf("npm"))).pathname;
  return [
    ...["--variant=minbase", "--include=ca-certificates,libstdc++6"],
    // With the certificate of a proxy that this machine reaches npm through.
    '--customize-hook=cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"',
    `--customize-hook=cp "${node}" "$1/usr/bin/node"`,
    `--customize-hook=mkdir -p "$1/usr/lib/node_modules" && cp -a "${npm}" "$1/usr/lib/node_modules/npm"`,
    '--customize-hook=ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/bin/npm"',
    '--customize-hook=ln -s ../lib/node_modules/npm/bin/npx-cli.js "$1/usr/bin/npx"',
  ];
}

function realPathOf(program: string): string {
  return Bun.spawnSync(["realpath", Bun.which(program)!])
    .stdout.toString()
    .trim();
}

/** Without a shell: the libraries and files that the README of distroless lists for "cc", and the user "nonroot". */
function distrolessRoot(): string[] {
  const users = `nonroot:x:${imageUser}:${imageUser}:nonroot:/home/nonroot:/sbin/nologin`;
  return [
    ...["--variant=extract", "--include=base-files,netbase,libc6,libgcc-s1,libgomp1,libstdc++6,libssl3"],
    `--customize-hook=printf 'root:x:0:0:root:/root:/sbin/nologin\\n${users}\\n' > "$1/etc/passwd"`,
    `--customize-hook=printf 'root:x:0:\\nnonroot:x:${imageUser}:\\n' > "$1/etc/group"`,
    '--customize-hook=mkdir -p "$1/etc/ssl/certs" && cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"',
    '--customize-hook=rm -rf "$1/var/lib/apt" "$1/var/cache/apt" "$1/usr/share/doc"',
  ];
}

/** Begins as the real image of PostgreSQL does: with a role, its password and a database of the same name. */
const postgresEntrypoint = `#!/bin/sh
set -e
PATH=/usr/lib/postgresql/15/bin:$PATH
data=/var/lib/postgresql/data
as_postgres="setpriv --reuid=postgres --regid=postgres --init-groups"
install -d -o postgres -m 700 $data /run/postgresql
if [ ! -s $data/PG_VERSION ]; then
  install -o postgres -m 600 /dev/null /tmp/password
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  $as_postgres initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust -D $data
  echo "host all all all scram-sha-256" >>$data/pg_hba.conf
  echo "CREATE DATABASE $POSTGRES_USER" | $as_postgres postgres --single -D $data postgres
fi
exec $as_postgres postgres -D $data -c listen_addresses="*"
`;

function postgresRoot(): string[] {
  const encoded = Buffer.from(postgresEntrypoint).toString("base64");
  return [
    ...["--variant=minbase", "--include=postgresql-15"],
    `--customize-hook=echo ${encoded} | base64 --decode >"$1/entrypoint" && chmod 755 "$1/entrypoint"`,
    '--customize-hook=rm -rf "$1/var/lib/postgresql/15" "$1/etc/postgresql"',
  ];
}

function caddyRoot(): string[] {
  return ["--variant=minbase", "--include=caddy,ca-certificates"];
}

/** The settings of an image. In npm's stand-in they are this machine's, so that it finds the same registry. */
async function settingsOf(name: string): Promise<string[]> {
  if (name.startsWith("postgres:")) return ["--change", 'ENTRYPOINT ["/entrypoint"]'];
  if (name.startsWith("caddy:"))
    return ["--change", 'CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile"]'];
  if (!name.startsWith("node:")) return ["--change", `USER ${imageUser}`];
  const settings: string[] = [];
  for (const setting of ["registry", "cafile"]) {
    const value = (await runProgram(["npm", "config", "get", setting], root)).trim();
    if (value !== "null" && value !== "undefined") settings.push(`npm_config_${setting}=${value}`);
  }
  const certificates = process.env.NODE_EXTRA_CA_CERTS;
  if (certificates) settings.push(`NODE_EXTRA_CA_CERTS=${certificates}`);
  return settings.flatMap((setting) => ["--change", `ENV ${setting}`]);
}

/** Marks the containers of a test file, which runs beside others. */
export const labelOf = (testFile: string) => `--label=tidings-test=${testFile}`;

/** Ends the containers with a test file's label, also those that an earlier run left, and removes them. */
export async function removeContainers(testFile: string): Promise<void> {
  const filter = `label=tidings-test=${testFile}`;
  const ids = (await podman("ps", "--all", "--quiet", "--filter", filter)).trim();
  if (ids !== "") await podman("rm", "--force", "--time", "0", "--volumes", ...ids.split("\n"));
}
