// @long
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPages } from "../../docs-site/pages.ts";
import { version } from "../config/config.ts";
import type { Event } from "../event/event.ts";
import type { Channel } from "../schemas/channel.ts";
import type { Job } from "../schemas/job.ts";
import { environmentOf, makeStorage, removeStorage } from "../testing/engine.ts";
import { longTest } from "../testing/long-test.ts";
import { runTidings, startServer } from "../testing/server-process.ts";
import { until } from "../testing/until.ts";

const root = join(import.meta.dir, "../..");
const build = join(root, "build");
const scratch = mkdtempSync(join(tmpdir(), "tidings-packaging-"));
afterAll(() => rmSync(scratch, { recursive: true }));

test("the npm package runs in an empty directory", async () => {
  run(["node", "scripts/bundle.mjs", "package"], root);
  const archive = readdirSync(build).find((name) => /^tidings-\d.*\.tgz$/.test(name))!;
  const directory = join(scratch, "package");
  mkdirSync(directory);
  writeFileSync(join(directory, "package.json"), "{}");
  // Bun is in npm's cache, since the project itself was installed.
  run(["npm", "install", "--prefer-offline", "--no-audit", "--no-fund", join(build, archive)], directory);
  const program = join(directory, "node_modules/.bin/tidings");
  await mainPath([program]);
  // npx runs it in a shell. A signal ends both of these, and must not leave the server behind.
  const storage = await makeStorage();
  const environment = { ...environmentOf(storage), TIDINGS_LOG: "info", npm_command: "exec" };
  const underNpx = await startServer(environment, undefined, ["sh", "-c", '"$0" "$@"; :', program]);
  expect((await underNpx.end("SIGTERM")).stdout).toContain('"msg":"stopped"');
  await removeStorage(storage);
  // npm installs as fast as the registry answers.
}, 180_000);

longTest("the executable runs alone", async () => {
  run(["node", "scripts/bundle.mjs", "binary"], root);
  await mainPath([join(build, process.platform === "win32" ? "tidings.exe" : "tidings")]);
});

test("an image is not built from data, keys, settings and history", () => {
  const rules = readFileSync(join(root, ".dockerignore"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => ({ isIn: line.startsWith("!"), glob: new Bun.Glob(line.replace(/^!/, "")) }));
  // The last rule that matches a file or a directory above it decides: https://docs.docker.com/build/concepts/context/
  const isSent = (file: string) => {
    const parts = file.split("/");
    const paths = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
    return rules.reduce(
      (isIn, rule) => (paths.some((path) => rule.glob.match(path)) ? rule.isIn : isIn),
      true,
    );
  };
  for (const file of [
    "data/secret.key",
    ".git/config",
    ".env",
    "tidings.toml",
    "server/data/tidings.db",
    "server/.env",
  ])
    expect([file, isSent(file)]).toEqual([file, false]);
  for (const file of [
    "node_modules/bun/package.json",
    "server/node_modules/a/b",
    "dashboard/dist/index.html",
  ])
    expect([file, isSent(file)]).toEqual([file, false]);
  for (const file of [
    "package.json",
    "server/package.json",
    "server/main.ts",
    "scripts/bundle.mjs",
    "docs/api.md",
    "clients/python/README.md",
    // Without a page, links to it would lead nowhere.
    ...readPages().flatMap(({ pages }) => pages.map(({ file }) => file)),
  ])
    expect([file, isSent(file)]).toEqual([file, true]);
});

type Answer = { event: Event; events: Event[]; channels: Channel[]; job: Job };

/** What a new user does first, and what needs each of the program's threads and files. */
async function mainPath(program: string[]): Promise<void> {
  const storage = await makeStorage();
  const environment = environmentOf(storage);
  const password = "correct horse battery";
  const account = ["account", "create", "--email", "ada@example.com", "--password-stdin"];
  const { stdout: head } = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], { cwd: root });
  expect((await runTidings(["--version"], {}, "", program)).stdout).toBe(
    `${version} (${head.toString().trim()})\n`,
  );
  expect((await runTidings(account, environment, "password123", program)).stderr).toContain("easy to guess");
  expect((await runTidings(account, environment, password, program)).stderr).toContain("Created the account");
  const created = await runTidings(
    ["key", "create", "--project", "default", "--name", "CI", "--scopes", "ingest,read,manage"],
    environment,
    "",
    program,
  );
  const headers = { "x-api-key": created.stdout.trim(), "content-type": "application/json" };

  let server = await startServer({ ...environment, TIDINGS_LOG: "info" }, undefined, program);
  const call = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(server.address + path, { ...init, headers });
    return { status: response.status, body: (await response.json()) as Answer };
  };
  const event = { channel: "payments", name: "Payment received", userId: "u1" };
  const posted = await call("/api/events", { method: "POST", body: JSON.stringify(event) });
  expect(posted).toMatchObject({ status: 201, body: { event: { name: "Payment received" } } });

  const page = await fetch(server.address, { headers: { accept: "text/html" } });
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())![1]!;
  const asset = await fetch(server.address + script, { headers: { "accept-encoding": "gzip" } });
  expect(asset.headers.get("content-encoding")).toBe("gzip");
  expect(asset.headers.get("content-type")).toStartWith("text/javascript");

  // Looks through the file's unused space in a process of its own.
  const erased = await call("/api/users/u1", { method: "DELETE" });
  expect(erased.status).toBe(202);
  await until(async () => (await call("/api/events")).body.events.length === 0);
  await until(async () => (await call(`/api/jobs/${erased.body.job.id}`)).body.job.state === "done");

  expect((await server.end("SIGTERM")).code).toBe(0);
  server = await startServer(environment, undefined, program);
  expect((await call("/api/channels")).body.channels).toHaveLength(1);
  expect((await server.end("SIGINT")).code).toBe(0);
  await removeStorage(storage);
}

function run(command: string[], cwd: string): void {
  const { exitCode, stderr, stdout } = Bun.spawnSync(command, { cwd });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stdout}${stderr}`);
}
