import { join } from "node:path";

/**
 * Where the program's own files are: its threads, migrations, word lists and the built dashboard.
 *
 * From source, each is where it belongs. `scripts/bundle.mjs` bundles the program for the npm package and for
 * executables: there, threads are beside this code, and all other files in `assets/`.
 */
const { dir } = import.meta;
const isBundled = !import.meta.path.endsWith("program-files.ts");
/** Bun's names for the file system inside an executable. */
const isExecutable = dir.startsWith("/$bunfs") || dir.startsWith("B:\\~BUN") || dir.startsWith("B:/~BUN");
/** The folder of the server's source. */
const source = join(dir, "..");

/** The dashboard as `npm run build` writes it, with compressed copies beside the files. */
export const dashboardDirectory = isBundled
  ? join(dir, "assets/dashboard")
  : join(source, "../dashboard/dist");

/** 49,000 passwords from leaks, in lower case. A JSON array of texts. */
export const leakedPasswordsFile = isBundled
  ? join(dir, "assets/passwords.json")
  : Bun.fileURLToPath(import.meta.resolve("@zxcvbn-ts/language-common/src/passwords.json"));

export type Engine = "sqlite" | "postgres";

/** The directories with an engine's migrations: those of both engines, and its own. */
export function migrationsDirectories(engine: Engine): string[] {
  const storage = isBundled ? join(dir, "assets") : join(source, "storage");
  return [join(storage, "migrations"), join(storage, engine, "migrations")];
}

/** The folders of the threads. */
const threads = {
  check: "storage/sqlite",
  checkpoint: "storage/sqlite",
  follow: "storage/sqlite",
  migrate: "storage/sqlite",
  reader: "storage/sqlite",
  writer: "storage/sqlite",
  picture: "reports",
};

/** The file of a thread. */
export function threadFile(name: keyof typeof threads): URL {
  return new URL(
    isBundled ? `./${name}-thread.js` : `../${threads[name]}/${name}-thread.ts`,
    import.meta.url,
  );
}

/** Files for drawing pictures: the WebAssembly of resvg, and fonts. That of DejaVu has all its letters, not only Latin. */
export function pictureFiles(): { program: string; fonts: string[] } {
  if (isBundled) {
    const file = (name: string) => join(dir, "assets/picture", name);
    return {
      program: file("index_bg.wasm"),
      fonts: [file("hanken-grotesk-latin-wght-normal.woff2"), file("dejavu-sans-latin-400-normal.woff2")],
    };
  }
  const [grotesk, dejaVu] = [
    import.meta.resolve("@fontsource-variable/hanken-grotesk/package.json"),
    import.meta.resolve("@fontsource/dejavu-sans/package.json"),
  ];
  const file = (folder: string, name: string) => Bun.fileURLToPath(new URL(`files/${name}`, folder));
  return {
    program: Bun.fileURLToPath(import.meta.resolve("@resvg/resvg-wasm/index_bg.wasm")),
    fonts: [
      file(grotesk, "hanken-grotesk-latin-wght-normal.woff2"),
      file(dejaVu, "dejavu-sans-latin-400-normal.woff2"),
    ],
  };
}

/** The arguments that run the `tidings` command line as another process. */
export function ownCommand(...args: string[]): string[] {
  if (isExecutable) return [process.execPath, ...args];
  return [
    process.execPath,
    isBundled ? join(dir, "tidings.js") : join(source, "commands/tidings.ts"),
    ...args,
  ];
}
