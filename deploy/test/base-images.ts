/**
 * The images that ours is built from and runs beside. Where no registry answers, mmdebstrap makes stand-ins out of
 * Debian's packages.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../clients/testing/programs.ts";
import { cache, root } from "./folders.ts";

export const containerfile = "deploy/Containerfile";
export const imageUser = 65532;
/** How long a pull may take. */
const pullMs = 600_000;

/** The images that a file names: those of `FROM` in the Containerfile, if there is no other pattern. */
export function baseImages(path = containerfile, pattern = /^FROM (\S+)/gm): string[] {
  return [...readFileSync(join(root, path), "utf8").matchAll(pattern)].map(([, name]) => name!);
}

/** How a container engine, Podman or Docker, gets an image. */
type ImageSource = {
  has: () => Promise<boolean>;
  /** The command that pulls it. */
  pull: string[];
  environment?: Record<string, string>;
  /** Imports an archive of a file system. */
  load: (archive: string, options: string[]) => Promise<void>;
};

/** Pulls an image, or makes its stand-in, unless it is there. */
export async function provideImage(
  name: string,
  { has, pull, environment, load }: ImageSource,
): Promise<void> {
  if (await has()) return;
  const child = Bun.spawn(pull, {
    env: { ...process.env, ...environment },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    timeout: pullMs,
  });
  const why = (await new Response(child.stderr).text()).trim();
  if ((await child.exited) === 0) return;
  console.log(`${name} can't be pulled, so a stand-in is made of Debian's packages: ${why}`);
  await load(await standInOf(name), await importOptions(name));
}

/** The archive of a stand-in's file system. It is kept for later runs and for other engines. */
async function standInOf(name: string): Promise<string> {
  const mmdebstrapOptions = standIns.find(([pattern]) => pattern.test(name))?.[1];
  if (!mmdebstrapOptions) throw new Error(`${name} has no stand-in in deploy/test/base-images.ts.`);
  const options = mmdebstrapOptions();
  const archive = join(cache, `${name.replaceAll(/[/:]/g, "-")}-${Bun.hash(options.join("\n"))}.tar`);
  if (existsSync(archive)) return archive;
  mkdirSync(cache, { recursive: true });
  const directory = mkdtempSync(join(cache, "base-"));
  try {
    const made = join(directory, "base.tar");
    await runProgram(["mmdebstrap", "--quiet", ...options, "bookworm", made], directory, {
      TMPDIR: directory,
    });
    renameSync(made, archive);
  } finally {
    rmSync(directory, { recursive: true });
  }
  return archive;
}

/** How mmdebstrap makes the file system of each stand-in. */
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

/**
 * The options of an import that say how an image runs. In Node's stand-in, npm's settings are this machine's, so that it
 * finds the same registry.
 */
async function importOptions(name: string): Promise<string[]> {
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
