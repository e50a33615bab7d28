/** Builds dist/ in the working directory: ES modules and CommonJS, each with its own types. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL(".", import.meta.url));
const out = join(process.cwd(), "dist");
const { exports, peerDependencies = {} } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.keys(exports)
  .filter((path) => path !== "./package.json")
  .map((path) => (path === "." ? "index" : path.slice(2)));

rmSync(out, { recursive: true, force: true });
const bundle = await rolldown({
  input: Object.fromEntries(entries.map((name) => [name, join(root, `src/${name}.ts`)])),
  external: [/^node:/, ...Object.keys(peerDependencies).map((name) => new RegExp(`^${name}(/|$)`))],
  // It warns that "use client" may be lost in a bundle. An entry keeps it, and a test looks.
  onLog: (level, log, report) => log.code === "MODULE_LEVEL_DIRECTIVE" || report(level, log),
});
for (const [format, extension] of [
  ["esm", "js"],
  ["cjs", "cjs"],
]) {
  await bundle.write({
    dir: out,
    format,
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `[name]-[hash].${extension}`,
    exports: "named",
  });
}

const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const args = [tsc, "-p", join(root, "tsconfig.build.json"), "--emitDeclarationOnly", "--outDir", out];
const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);
// TypeScript takes a .d.ts file of this package for an ES module, which `require` of CommonJS can't load.
for (const name of readdirSync(out).filter((file) => file.endsWith(".d.ts"))) {
  const types = readFileSync(join(out, name), "utf8");
  const importing = (extension) => types.replace(/(["']\.\/[^"']+)\.ts(["'])/g, `$1.${extension}$2`);
  writeFileSync(join(out, name), importing("js"));
  writeFileSync(join(out, name.replace(/\.d\.ts$/, ".d.cts")), importing("cjs"));
}
