/**
 * Bundles the program, with the dashboard and all other files that it needs.
 *
 *   node scripts/bundle.mjs package            the npm package, in build/package
 *   node scripts/bundle.mjs client             the npm package of the client library, in build/
 *   node scripts/bundle.mjs binary [TARGET …]  an executable for each target, in build/: bun-linux-x64 (or what runs
 *                                              this), bun-linux-arm64, bun-linux-x64-musl, bun-darwin-x64,
 *                                              bun-darwin-arm64, bun-windows-x64
 *
 * `server/process/program-files.ts` is where the program finds its files in both.
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const build = join(root, "build");
const entries = [
  ...["check", "checkpoint", "follow", "migrate", "reader", "writer"].map(
    (name) => `server/storage/sqlite/${name}-thread.ts`,
  ),
  "server/reports/picture-thread.ts",
];
const [kind, ...targets] = process.argv.slice(2);

if (kind !== "client") run("node", ["scripts/build.mjs"]);
if (kind === "package") buildPackage();
else if (kind === "client") buildClient();
else if (kind === "binary") for (const target of targets.length > 0 ? targets : [null]) buildBinary(target);
else throw new Error('Say what to build: "package", "client" or "binary".');

/** The package has one dependency, Bun. Node runs `bin.mjs`, which runs the bundle with Bun. */
function buildPackage() {
  const directory = join(build, "package");
  rmSync(directory, { recursive: true, force: true });
  copyAssets(join(directory, "dist/assets"));
  bun(["--outdir", join(directory, "dist")]);
  const { version, description, license, dependencies, engines } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const manifest = {
    name: "tidings",
    version,
    description,
    keywords: ["events", "event-tracking", "notifications", "self-hosted"],
    license,
    type: "module",
    bin: { tidings: "bin.mjs" },
    files: ["bin.mjs", "bun.mjs", "dist"],
    engines,
    dependencies,
    // Newer versions of npm run install scripts only of packages that are listed.
    allowScripts: { bun: true },
  };
  writeFileSync(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of ["bin.mjs", "bun.mjs"]) copyFileSync(join(root, "scripts", name), join(directory, name));
  for (const name of ["README.md", "CHANGELOG.md", "LICENSE"])
    copyFileSync(join(root, name), join(directory, name));
  run("npm", ["pack", "--silent", "--pack-destination", build], directory);
}

/** The client library's script `prepack` builds it. */
function buildClient() {
  mkdirSync(build, { recursive: true });
  run("npm", ["pack", "--silent", "--pack-destination", build], join(root, "client"));
}

/** An executable has Bun, the program and its files in it. */
function buildBinary(target) {
  const staging = mkdtempSync(join(tmpdir(), "tidings-bundle-"));
  copyAssets(join(staging, "assets"));
  mkdirSync(build, { recursive: true });
  const name = target === null ? "tidings" : target.replace(/^bun/, "tidings");
  bun([
    ...["--compile", "--outfile", join(build, name), "--asset", join(staging, "assets")],
    // Settings come from the environment and tidings.toml, not from files that Bun reads by itself.
    ...["--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"],
    ...(target === null ? [] : [`--target=${target}`, "--compile-executable-path", runtimeOf(target)]),
  ]);
  rmSync(staging, { recursive: true });
}

/** Bun for another platform, from its npm package, of the version that the project has. */
function runtimeOf(target) {
  // The packages are called after Node's and Debian's names of architectures.
  const name = target.replace("arm64", "aarch64");
  const program = `package/bin/${target.includes("windows") ? "bun.exe" : "bun"}`;
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const cache = join(root, "node_modules/.cache/tidings-runtimes", `${name}-${dependencies.bun}`);
  if (!existsSync(join(cache, program))) {
    mkdirSync(cache, { recursive: true });
    run("npm", ["pack", "--silent", `@oven/${name}@${dependencies.bun}`, "--pack-destination", cache]);
    const archive = readdirSync(cache).find((file) => file.endsWith(".tgz"));
    run("tar", ["-xzf", archive, program], cache);
    rmSync(join(cache, archive));
  }
  return join(cache, program);
}

function bun(options) {
  run("bun", [
    ...["build", "--target=bun", "--minify-syntax", "--minify-whitespace", "--entry-naming", "[name].[ext]"],
    ...["--external", "pg-native"],
    ...["--define", `TIDINGS_COMMIT=${JSON.stringify(commit())}`],
    ...options,
    ...["server/commands/tidings.ts", ...entries],
  ]);
}

/**
 * The commit, for `server/process/version.ts`: `TIDINGS_COMMIT`, for builds without the repository, or what git says.
 */
function commit() {
  if (process.env.TIDINGS_COMMIT) return process.env.TIDINGS_COMMIT.slice(0, 12);
  const { status, stdout } = spawnSync("git", ["rev-parse", "--short=12", "HEAD"], {
    cwd: root,
    encoding: "utf8",
  });
  return status === 0 && existsSync(join(root, ".git")) ? stdout.trim() : "";
}

function copyAssets(directory) {
  mkdirSync(directory, { recursive: true });
  cpSync(join(root, "dashboard/dist"), join(directory, "dashboard"), { recursive: true });
  for (const migrations of ["migrations", "sqlite/migrations", "postgres/migrations"])
    cpSync(join(root, "server/storage", migrations), join(directory, migrations), { recursive: true });
  copyFileSync(
    join(root, "node_modules/@zxcvbn-ts/language-common/src/passwords.json"),
    join(directory, "passwords.json"),
  );
  mkdirSync(join(directory, "picture"));
  for (const file of [
    "@resvg/resvg-wasm/index_bg.wasm",
    "@fontsource-variable/hanken-grotesk/files/hanken-grotesk-latin-wght-normal.woff2",
    "@fontsource/dejavu-sans/files/dejavu-sans-latin-400-normal.woff2",
  ])
    copyFileSync(join(root, "node_modules", file), join(directory, "picture", basename(file)));
}

function run(command, args, cwd = root) {
  const { status } = spawnSync(command, args, {
    cwd,
    stdio: "inherit",
    env: { ...process.env, PATH: `${root}node_modules/.bin:${process.env.PATH}` },
    shell: process.platform === "win32",
  });
  if (status !== 0) process.exit(status ?? 1);
}
