/**
 * Runs tests with ClickHouse behind PostgreSQL: those whose `@engines` line names it, or the files that paths name.
 * ClickHouse is chDB, which the first run installs (566 MB) into `node_modules/.cache/`.
 *
 *   node scripts/test-clickhouse.mjs [PATH …]
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const packages = `${root}node_modules/.cache/tidings-clickhouse`;
const chdb = "3.4.0";
const clickHouseServer = "server/testing/clickhouse.ts";
const environment = { ...process.env, PATH: `${root}node_modules/.bin:${process.env.PATH}` };

if (!existsSync(`${packages}/node_modules/chdb`)) {
  console.log("Installing chDB (566 MB) …");
  mkdirSync(packages, { recursive: true });
  writeFileSync(`${packages}/package.json`, '{ "private": true }\n');
  const { status } = spawnSync("npm", ["install", "--no-audit", "--no-fund", `chdb@${chdb}`], {
    cwd: packages,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) process.exit(1);
}

const paths = process.argv.slice(2);
const files = paths.length > 0 ? paths : filesOn("clickhouse");
const server = spawn("bun", [clickHouseServer], {
  cwd: root,
  env: environment,
  stdio: ["pipe", "pipe", "inherit"],
});
const address = await new Promise((resolve, reject) => {
  server.stdout.once("data", (line) => resolve(String(line).trim()));
  server.once("close", () => reject(new Error("ClickHouse for the tests did not start")));
});
const { status } = spawnSync("node", ["scripts/test.mjs", ...files], {
  cwd: root,
  env: { ...environment, TIDINGS_TEST_ENGINE: "clickhouse", TIDINGS_TEST_CLICKHOUSE: address },
  stdio: "inherit",
});
server.stdin.end();
process.exit(status ?? 1);

/** The test files that run on an engine. */
function filesOn(engine) {
  return readdirSync(`${root}server`, { recursive: true })
    .map((path) => `server/${path}`.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".test.ts") && !path.includes("/node_modules/"))
    .filter((path) =>
      /^\/\/ @engines (.+)$/m
        .exec(readFileSync(root + path, "utf8"))?.[1]
        .split(", ")
        .includes(engine),
    );
}
