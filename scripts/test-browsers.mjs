/**
 * Runs the tests of pages in today's browsers: all of them in Debian's newest Chromium, and the main paths in Firefox
 * and in WebKitGTK, the engine of Safari. As root on Debian, it installs the browsers, or brings them up to date, with
 * apt. A browser that is missing is skipped, with a sentence. The last line is "N passed, N failed".
 *
 *   node scripts/test-browsers.mjs [--part N/M] [chromium] [firefox] [webkit] [PATH …]
 *
 * Without a browser's name, all of them. `--part` and paths choose among the tests in Chromium, as in
 * `scripts/test.mjs`. `TIDINGS_TEST_CHROMIUM` is the path of another Chromium.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const chromium = process.env.TIDINGS_TEST_CHROMIUM ?? "/usr/bin/chromium";
const mainPaths = "server/pages-main-paths.test.ts";
const miniBrowser = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser";

const {
  values: { part },
  positionals,
} = parseArgs({ allowPositionals: true, options: { part: { type: "string" } } });

const browsers = {
  chromium: {
    title: "Chromium",
    packages: ["chromium"],
    files: [chromium],
    environment: { TIDINGS_TEST_CHROMIUM: chromium },
    tests: ["--pages", ...(part ? ["--part", part] : []), ...positionals.filter((each) => !isBrowser(each))],
  },
  firefox: {
    title: "Firefox",
    packages: ["firefox-esr"],
    files: ["/usr/bin/firefox-esr"],
    environment: { TIDINGS_TEST_BROWSER: "firefox" },
    tests: [mainPaths],
  },
  webkit: {
    title: "WebKit",
    packages: ["webkit2gtk-driver", "xvfb"],
    files: ["/usr/bin/WebKitWebDriver", "/usr/bin/Xvfb", miniBrowser],
    environment: { TIDINGS_TEST_BROWSER: "webkit" },
    tests: [mainPaths],
  },
};

const named = positionals.filter(isBrowser);
const chosen = Object.entries(browsers)
  .filter(([name]) => named.length === 0 || named.includes(name))
  .map(([, browser]) => browser);
install(chosen.flatMap(({ packages }) => packages));

let passed = 0;
let failed = 0;
for (const { title, packages, files, environment, tests } of chosen) {
  const missing = files.find((file) => !existsSync(file));
  if (missing) {
    console.log(
      `Skipped ${title}, because ${missing} is missing: apt-get install --no-install-recommends ${packages.join(" ")}`,
    );
    continue;
  }
  console.log(`\n${title}`);
  const counts = await run(["scripts/test.mjs", "--long", ...tests], environment);
  passed += counts.passed;
  failed += counts.failed;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(passed > 0 && failed === 0 ? 0 : 1);

function isBrowser(name) {
  return ["chromium", "firefox", "webkit"].includes(name);
}

/** Installs Debian's packages, or their newest versions, if this may. */
function install(packages) {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || !existsSync("/usr/bin/apt-get")) return;
  console.log(`Installing with apt, unless they are there: ${packages.join(", ")} …`);
  const apt = (...args) =>
    spawnSync("apt-get", [...args, "-qq"], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      encoding: "utf8",
    });
  apt("update");
  const { status, stderr } = apt("install", "--yes", "--no-install-recommends", ...packages);
  if (status !== 0)
    console.log(`apt-get could not install all of them, so what is there is used:\n${stderr}`);
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
