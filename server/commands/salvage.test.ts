// @long
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseFile } from "../storage/sqlite/directory.ts";
import { canMount, smallDisk } from "../testing/disks.ts";
import { runTidings, startServer } from "../testing/server-process.ts";

const pageBytes = 4_096;
const events = 2_000;

let scratch: string;
let data: { TIDINGS_DATA: string };
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "tidings-salvage-"));
  data = { TIDINGS_DATA: join(scratch, "data") };
  const lines = Array.from({ length: events }, (_, n) => ({
    channel: `c${n % 3}`,
    name: `event ${n}`,
    userId: `u${n % 7}`,
    createdAt: Date.UTC(2026, 0, 1) + n * 600_000,
  }));
  for (const project of ["shop", "blog"]) {
    expect(await runTidings(["project", "create", project], data)).toMatchObject({ code: 0 });
    const user = { type: "user", userId: "u1", properties: { plan: "pro" }, known: true, ids: ["visitor"] };
    const channel = {
      ...{ type: "channel", name: "c1", description: `Of ${project}`, retentionDays: null },
      firstTags: ["reason", "amount"],
    };
    const text = [channel, user, ...lines].map((line) => `${JSON.stringify(line)}\n`).join("");
    expect(await runTidings(["import", "-", "--project", project], data, text)).toMatchObject({ code: 0 });
  }
});
afterAll(() => rmSync(scratch, { recursive: true }));

/** Everything of a project, with the order of lines that a new installation has. */
async function exported(environment: Record<string, string>, project: string): Promise<string[]> {
  const { stdout, code } = await runTidings(["export", "--all", "--project", project, "-"], environment);
  expect(code).toBe(0);
  // A new project has a board of its own.
  return stdout.split("\n").filter((line) => line !== "" && !line.includes('"type":"board"'));
}

test("what can be read of a damaged database is imported into a new installation as it was", async () => {
  const before = await exported(data, "shop");
  const file = databaseFile(data.TIDINGS_DATA);
  const bytes = readFileSync(file);
  // The header, and a page in the middle with events.
  bytes.fill(0x5a, 0, pageBytes);
  const lost = Math.floor(bytes.indexOf('"name":"event 1000"') / pageBytes) * pageBytes;
  bytes.fill(0x5a, lost, lost + pageBytes);
  writeFileSync(file, bytes);
  expect((await runTidings(["doctor"], data)).code).toBe(3);

  const out = join(scratch, "out.ndjson");
  const salvaged = await runTidings(["salvage", out, "--json"], data);
  expect([salvaged.code, salvaged.stderr]).toEqual([3, ""]);
  const { projects } = JSON.parse(salvaged.stdout) as {
    projects: { project: string; file: string; events: number; users: number; missing: { events: number } }[];
  };
  expect(projects.map(({ project, users }) => [project, users])).toEqual([
    ["shop", 1],
    ["blog", 1],
  ]);
  expect(projects.map(({ file }) => file)).toEqual([
    join(scratch, "out.shop.ndjson"),
    join(scratch, "out.blog.ndjson"),
  ]);
  for (const { events: written, missing } of projects) expect(written + missing.events).toBe(events);
  expect(projects.some(({ missing }) => missing.events > 0)).toBe(true);
  expect(readdirSync(scratch).filter((name) => name.endsWith(".partial"))).toEqual([]);

  const again = { TIDINGS_DATA: join(scratch, "again") };
  expect((await runTidings(["project", "create", "shop"], again)).code).toBe(0);
  const imported = await runTidings(["import", projects[0]!.file, "--project", "shop"], again);
  expect([imported.code, imported.stderr]).toEqual([0, expect.stringContaining("Imported")]);
  const after = await exported(again, "shop");
  const missing = before.filter((line) => !after.includes(line));
  expect(after.filter((line) => !before.includes(line))).toEqual([]);
  expect(missing).toHaveLength(projects[0]!.missing.events);

  const told = await runTidings(["salvage", "-", "--project", "blog"], data);
  expect([told.code, told.stdout.trim().split("\n").length]).toEqual([3, projects[1]!.events + 5]);
  expect(told.stderr).toMatch(
    /^blog: wrote [\d,]+ events, 1 user, 1 joined ID and 3 channels to standard output\.\n/,
  );
});

test("it refuses what it can't do, and says why", async () => {
  const text = join(scratch, "text.db");
  writeFileSync(text, "no database".repeat(1_000));
  const refused = async (args: string[], code: number) => {
    const ended = await runTidings(["salvage", ...args], data);
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
    return ended.stderr;
  };
  const out = join(scratch, "refused.ndjson");
  expect(await refused([out, "--database", text], 1)).toContain("has no event, user or channel of Tidings");
  expect(await refused([out, "--database", join(scratch, "none")], 1)).toContain("There is no file");
  expect(await refused(["-"], 2)).toContain("--project, or name a file: shop, blog.");
  expect(await refused([out, "--project", "x"], 2)).toContain("There is something of: shop, blog.");
  writeFileSync(join(scratch, "refused.shop.ndjson"), "");
  expect(await refused([out], 2)).toContain("refused.shop.ndjson exists already");
  const server = await startServer({ TIDINGS_DATA: join(scratch, "served") });
  const served = databaseFile(join(scratch, "served"));
  const link = join(scratch, "link.db");
  symlinkSync(served, link);
  for (const path of [served, link])
    expect(await refused([out, "--database", path], 1)).toContain(`Process ${server.pid} (a server`);
  await server.end("SIGTERM");

  const own = databaseFile(data.TIDINGS_DATA);
  const toOwn = join(scratch, "to-own");
  symlinkSync(own, toOwn);
  const before = statSync(own).size;
  for (const path of [own, toOwn, `${own}-wal`].filter((path) => existsSync(path)))
    expect(await refused([path, "--force", "--project", "shop"], 1)).toContain(
      "would replace the damaged database",
    );
  expect(statSync(own).size).toBe(before);
});

test.skipIf(!canMount)("it fails on a disk that has no space for the last line", async () => {
  const whole = join(scratch, "whole.ndjson");
  await runTidings(["salvage", whole, "--project", "shop"], data);
  const pages = Math.ceil(statSync(whole).size / pageBytes);
  using disk = smallDisk(1);
  writeFileSync(join(disk.path, "ballast"), Buffer.alloc(1_048_576 - (pages - 1) * pageBytes));
  const out = join(disk.path, "out.ndjson");
  const { code, stderr } = await runTidings(["salvage", out, "--project", "shop"], data);
  expect([code, stderr, existsSync(out)]).toEqual([1, expect.stringContaining("ENOSPC"), false]);
});
