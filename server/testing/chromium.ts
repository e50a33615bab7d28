import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import { type Browser, chromium } from "playwright-core";

/**
 * Starts a headless Chromium: the one that `TIDINGS_TEST_CHROMIUM` names, or else the one of `@sparticuz/chromium`, which
 * brings the libraries and fonts that a bare Linux on x64 lacks. Works as root, in a container, without a network.
 *
 * Playwright talks to it through pipes, which Bun closed twice up to 1.3 (https://github.com/oven-sh/bun/pull/33828)
 * and which hold on Bun 1.4.5, over many launches in one process as well.
 *
 * @param flags - of Chromium's command line, besides ours
 * @example
 * const browser = await launchChromium();
 * const page = await browser.newPage();
 * await browser.close();
 */
export async function launchChromium(flags: string[] = []): Promise<Browser> {
  const named = process.env.TIDINGS_TEST_CHROMIUM;
  return chromium.launch({
    ...(named ? { executablePath: named } : await bundled()),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Screenshots of the same page are the same on every machine.
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
    ...process.env,
    LD_LIBRARY_PATH: join(directory, "al2023", "lib"),
    FONTCONFIG_FILE: await writeFontConfiguration(directory),
  };
  return { executablePath: join(directory, "chromium"), env };
}

/** Unpacks the browser once for each version, in two seconds and 200 MB, beside the package that it comes in. */
async function unpacked(): Promise<string> {
  // The package's own `executablePath` unpacks in place, so that a second process runs half a file.
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

/** Writes the configuration for this checkout's fonts, whichever checkout unpacked the browser, and gives the file. */
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
 * Only our own fonts, so that a screenshot does not depend on the machine's: Open Sans of the package, and emoji where
 * `@expo-google-fonts/noto-color-emoji` is installed.
 */
function fontConfiguration(directory: string): string {
  const modules = [join(import.meta.dir, "../../node_modules"), join(import.meta.dir, "../node_modules")];
  const directories = [join(directory, "fonts"), ...modules.map((path) => join(path, "@expo-google-fonts"))];
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
${directories.map((path) => `  <dir>${Bun.escapeHTML(path)}</dir>`).join("\n")}
  <cachedir>${Bun.escapeHTML(join(directory, "fonts-cache"))}</cachedir>
</fontconfig>
`;
}
