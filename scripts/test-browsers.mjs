/**
 * Runs the tests of pages in today's browsers: all of them in Debian's newest Chromium, and in Firefox and in WebKitGTK,
 * the engine of Safari, the main paths and the script of web pages. As root on Debian, it installs the browsers, or brings them up to date, with
 * apt. A browser that is missing is skipped, with a sentence. The last line is "N passed, N failed".
 *
 *   node scripts/test-browsers.mjs [--part N/M] [chromium] [firefox] [webkit] [PATH …]
 *
 * Without a browser's name, all of them. `--part` and paths choose among the tests in Chromium, as in
 * `scripts/test.mjs`. `TIDINGS_TEST_CHROMIUM`, `TIDINGS_TEST_FIREFOX` and `TIDINGS_TEST_WEBKIT` are paths of other
 * browsers; that of WebKit is its MiniBrowser.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
/** What runs in each browser. */
const everywhere = ["server/e2e/pages-main-paths.test.ts", "server/website/script-browsers.test.ts"];
const aptGet = "/usr/bin/apt-get";
const names = ["chromium", "firefox", "webkit"];

const {
  values: { part },
  positionals,
} = parseArgs({ allowPositionals: true, options: { part: { type: "string" } } });
const named = positionals.filter((each) => names.includes(each));
const paths = positionals.filter((each) => !names.includes(each));

const browsers = {
  chromium: {
    title: "Chromium",
    packages: ["chromium"],
    variable: "TIDINGS_TEST_CHROMIUM",
    path: "/usr/bin/chromium",
    needs: [],
    tests: ["--pages", ...(part ? ["--part", part] : []), ...paths],
  },
  firefox: {
    title: "Firefox",
    packages: ["firefox-esr"],
    variable: "TIDINGS_TEST_FIREFOX",
    path: "/usr/bin/firefox-esr",
    needs: [],
    tests: everywhere,
  },
  webkit: {
    title: "WebKitGTK",
    packages: ["webkit2gtk-driver", "xvfb", "fonts-noto-color-emoji"],
    variable: "TIDINGS_TEST_WEBKIT",
    path: "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
    needs: ["/usr/bin/WebKitWebDriver", "/usr/bin/Xvfb"],
    tests: everywhere,
  },
};
const chosen = names
  .filter((name) => named.length === 0 || named.includes(name))
  .map((name) => browsers[name]);
install(chosen.flatMap(({ packages }) => packages));

const results = [];
for (const { title, packages, variable, path, needs, tests } of chosen) {
  const executable = process.env[variable] ?? path;
  const missing = [executable, ...needs].find((file) => !existsSync(file));
  if (missing) {
    results.push({
      line: `${title} was skipped, because ${missing} is missing: on Debian, run "apt-get install --no-install-recommends ${packages.join(" ")}" as root.`,
      passed: 0,
      failed: 0,
    });
    continue;
  }
  const environment = { [variable]: executable };
  const name = nameOf(environment);
  console.log(`\n${name ?? `${title} did not start`}`);
  const counts = name
    ? await run(["scripts/test.mjs", "--long", ...tests], environment)
    : { passed: 0, failed: 1 };
  results.push({ line: `${name ?? title}: ${counts.passed} passed, ${counts.failed} failed`, ...counts });
}
console.log("");
for (const { line } of results) console.log(line);
const passed = results.reduce((sum, result) => sum + result.passed, 0);
const failed = results.reduce((sum, result) => sum + result.failed, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exit(passed > 0 && failed === 0 ? 0 : 1);

/** Installs Debian's packages, or their newest versions, if this may. */
function install(packages) {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || !existsSync(aptGet)) return;
  console.log(`Installing the newest ${packages.join(", ")} with apt …`);
  const apt = (...args) =>
    spawnSync(aptGet, [...args, "-qq"], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      encoding: "utf8",
    });
  apt("update");
  const { status, stderr } = apt("install", "--yes", "--no-install-recommends", ...packages);
  if (status !== 0) console.log(`apt could not install all of them. Installed browsers are used.\n${stderr}`);
}

/** Starts a browser, and returns its name and version; null if it doesn't start. */
function nameOf(environment) {
  const { status, stdout, stderr } = spawnSync("bun", [`${root}server/e2e/browser/drivers/print-name.ts`], {
    cwd: root,
    env: { ...process.env, ...environment, PATH: `${root}node_modules/.bin:${process.env.PATH}` },
    encoding: "utf8",
    timeout: 120_000,
  });
  if (status === 0) return stdout.trim();
  console.log(stderr);
  return null;
}

/** Runs tests, and returns the counts that they print last. */
function run(args, environment) {
  const child = spawn("node", args, {
    cwd: root,
    env: { ...process.env, TIDINGS_TEST_ENGINE: "sqlite", ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let end = "";
  child.stdout.on("data", (bytes) => {
    process.stdout.write(bytes);
    end = (end + bytes).slice(-200);
  });
  return new Promise((resolve) => {
    child.on("close", (code) => {
      const [, passed, failed] = /(\d+) passed, (\d+) failed\n$/.exec(end) ?? [null, "0", "1"];
      resolve({ passed: Number(passed), failed: Math.max(Number(failed), code === 0 ? 0 : 1) });
    });
  });
}
