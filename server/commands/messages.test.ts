// @long
/** What commands say on standard error, on a terminal and elsewhere, and how they are asked for help. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fullVersion } from "../process/version.ts";
import { runTidings } from "../testing/server-process.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

const files = mkdtempSync(join(tmpdir(), "tidings-messages-"));
const file = join(files, "events.ndjson");
let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  writeFileSync(file, '{"channel":"shop","name":"Sold"}\n{"channel":"shop","name":"Returned"}\n');
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  rmSync(files, { recursive: true });
});

const run = (...args: string[]) => runTidings([...args, "--url", app.address], { TIDINGS_API_KEY: app.key });

/** Runs a command on a terminal, and returns what it shows. */
async function onTerminal(...args: string[]): Promise<string> {
  let shown = "";
  const program = [process.execPath, join(import.meta.dir, "tidings.ts")];
  const child = Bun.spawn([...program, ...args, "--url", app.address], {
    env: { PATH: process.env.PATH ?? "", TERM: "xterm", TIDINGS_API_KEY: app.key },
    terminal: {
      cols: 200,
      rows: 24,
      data: (_, bytes) => {
        shown += new TextDecoder().decode(bytes);
      },
    },
  });
  await child.exited;
  await until(() => shown.endsWith("\n"));
  return shown;
}

const red = "\u001b[31m";

test("on a terminal, errors are red and messages are not", async () => {
  const message = await onTerminal("import", file);
  expect(message).toContain("Imported 2 events");
  expect(message).not.toContain(red);
  expect(await onTerminal("list", "--limt", "3")).toContain(`${red}There is no option --limt.`);
});

test("an import says how many events were there already", async () => {
  const again = join(files, "again.ndjson");
  writeFileSync(again, '{"channel":"shop","name":"Packed"}\n{"channel":"shop","name":"Shipped"}\n');
  expect((await run("import", again)).stderr).toMatch(/^Imported 2 events into [^ ]+\.\n$/);
  expect((await run("import", again)).stderr).toMatch(
    /^Imported 0 events into [^ ]+\. 2 events were there already\.\n$/,
  );
  writeFileSync(again, `${readFileSync(again, "utf8")}{"channel":"shop","name":"Delivered"}\n`);
  const { stdout } = await run("import", again, "--json");
  expect(JSON.parse(stdout)).toMatchObject({ records: 3, accepted: 3, duplicates: 2, rejected: 0 });
});

test("-q and --quiet leave errors only", async () => {
  for (const option of ["-q", "--quiet"])
    expect(await run("import", file, option)).toEqual({ code: 0, stdout: "", stderr: "" });
  const wrong = await run("list", "--quiet", "--from", "nonsense");
  expect([wrong.code, wrong.stdout]).toEqual([2, ""]);
  expect(wrong.stderr).not.toBe("");
  // --q is a search.
  const found = await run("list", "--q", "name:Sold", "-q", "--limit", "1", "--json");
  expect([found.code, found.stdout]).toEqual([0, expect.stringContaining('"name":"Sold"')]);
});

test("an export names the formats that it knows", async () => {
  const unknown = join(files, "events.xyz");
  const { code, stderr } = await run("export", unknown);
  expect([code, stderr]).toEqual([2, expect.stringContaining(".ndjson, .jsonl, .csv, .parquet")]);
  expect(existsSync(unknown)).toBe(false);
  expect((await run("export", unknown, "--format", "csv")).code).toBe(0);
  expect(readFileSync(unknown, "utf8")).toStartWith("id,createdAt");
  for (const name of ["events.jsonl", "events", "events.NDJSON.gz"])
    expect((await run("export", join(files, name))).code).toBe(0);
});

test("help and version are commands too", async () => {
  const tidings = (...args: string[]) => runTidings(args, {});
  expect((await tidings("help")).stdout).toBe((await tidings("--help")).stdout);
  const help = await tidings("help", "key", "create");
  expect(help).toEqual(await tidings("key", "create", "--help"));
  expect(help.stdout).toContain("tidings key create");
  expect(await tidings("help", "kye")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('"key"'),
  });
  expect(await tidings("version")).toEqual({ code: 0, stdout: `${fullVersion()}\n`, stderr: "" });
  expect(JSON.parse((await tidings("version", "--json")).stdout)).toEqual({ version: fullVersion() });
});
