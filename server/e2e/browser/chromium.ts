import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import { type Browser, chromium } from "playwright-core";

/** In the locale "C", the browser's language is one that Intl rejects. */
const environment = { ...process.env, LC_ALL: "en_US.UTF-8" };

/**
 * Starts a headless Chromium: `TIDINGS_TEST_CHROMIUM`, or else the one from `@sparticuz/chromium`, which includes the
 * libraries and fonts that a minimal Linux on x64 lacks. Works as root, in containers and offline.
 *
 * Playwright communicates with it through pipes, which Bun closed twice up to 1.3
 * (https://github.com/oven-sh/bun/pull/33828). With Bun 1.4.5 they work, even over many launches in one process.
 *
 * @param flags - additional command-line flags
 * @example
 * const browser = await launchChromium();
 * const page = await browser.newPage();
 * await browser.close();
 */
export async function launchChromium(flags: string[] = []): Promise<Browser> {
  const customPath = process.env.TIDINGS_TEST_CHROMIUM;
  return chromium.launch({
    ...(customPath ? { executablePath: customPath, env: environment } : await bundled()),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Makes screenshots the same on every machine.
      "--font-render-hinting=none",
      "--force-color-profile=srgb",
      ...flags,
    ],
  });
}

async function bundled() {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error(
      "The bundled Chromium is for Linux on x64. Set TIDINGS_TEST_CHROMIUM to the path of another one.",
    );
  }
  const directory = await unpacked();
  const env = {
    ...environment,
    LD_LIBRARY_PATH: join(directory, "al2023", "lib"),
    FONTCONFIG_FILE: await writeFontConfiguration(directory),
  };
  return { executablePath: join(directory, "chromium"), env };
}

/** Unpacks the browser next to its package, once per version. Takes two seconds and 200 MB. */
async function unpacked(): Promise<string> {
  // Not with the package's `executablePath`, which unpacks in place: another process might run an incomplete file.
  const home = join(dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium"))), "..", "..");
  const { version } = JSON.parse(await readFile(join(home, "package.json"), "utf8"));
  const cache = join(home, "..", "..", ".cache");
  const directory = join(cache, `tidings-chromium-${version}`);
  if (existsSync(directory)) return directory;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(`${directory}-`);
  const read = async (name: string) => promisify(brotliDecompress)(await readFile(join(home, "bin", name)));
  const unpack = async (name: string) => {
    await new Bun.Archive(await read(`${name}.tar.br`)).extract(join(unfinished, name));
  };
  const executable = join(unfinished, "chromium");
  await Promise.all([
    read("chromium.br").then((bytes) => writeFile(executable, bytes)),
    unpack("al2023"),
    unpack("fonts"),
  ]);
  await chmod(executable, 0o755);
  await rename(unfinished, directory).catch(async (error: NodeJS.ErrnoException) => {
    // Another process was faster.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    await rm(unfinished, { recursive: true });
  });
  return directory;
}

/**
 * Writes the font configuration of this checkout, which may not be the one that unpacked the browser; returns its path.
 */
async function writeFontConfiguration(directory: string): Promise<string> {
  const text = fontConfiguration(directory);
  const file = join(directory, `fonts-${Bun.hash(text).toString(36)}.conf`);
  if (!existsSync(file)) {
    const unfinished = `${file}-${process.pid}`;
    await writeFile(unfinished, text);
    await rename(unfinished, file);
  }
  return file;
}

/**
 * Only bundled fonts, so that screenshots don't depend on the machine: the package's Open Sans, and emoji if
 * `@expo-google-fonts/noto-color-emoji` is installed.
 */
function fontConfiguration(directory: string): string {
  const modules = [
    join(import.meta.dir, "../../../node_modules"),
    join(import.meta.dir, "../../node_modules"),
  ];
  const directories = [join(directory, "fonts"), ...modules.map((path) => join(path, "@expo-google-fonts"))];
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
${directories.map((path) => `  <dir>${Bun.escapeHTML(path)}</dir>`).join("\n")}
  <cachedir>${Bun.escapeHTML(join(directory, "fonts-cache"))}</cachedir>
</fontconfig>
`;
}
