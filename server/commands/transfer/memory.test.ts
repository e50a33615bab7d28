// @long
/** An import uses as much memory at its end as at its beginning: nothing of a batch is kept. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environmentOf, removeStorage } from "../../testing/engine.ts";
import { memoryMbOf } from "../../testing/process-usage.ts";
import { spawnTidings, testProcess } from "../../testing/server-process.ts";
import { preparedConfig } from "../../testing/test-app.ts";

const lines = 300_000;
/** Far less than what the events take that are recorded between the first third and the last one. */
const growthMaxMb = 80;
const sampleMs = 20;
const timeoutMs = 900_000;
const secondsApart = 2;

const files = mkdtempSync(join(tmpdir(), "tidings-import-memory-"));
afterAll(() => rmSync(files, { recursive: true }));

const file = join(files, "events.ndjson");
const oldest = Date.UTC(2026, 0, 1);
writeFileSync(file, "");
for (let first = 0; first < lines; first += 10_000)
  writeFileSync(file, Array.from({ length: 10_000 }, (_, n) => lineOf(first + n)).join(""), { flag: "a" });

/** Dated, in the order of time, and with a character that makes its batch a text of 16 bits. */
function lineOf(n: number): string {
  const event = {
    channel: `channel ${n % 20}`,
    name: `${["Order", "Invoice", "Backup"][n % 3]} ${["started", "failed"][n % 2]}`,
    userId: `user ${(n * 7_919) % 100_000}`,
    icon: "💰",
    tags: { plan: `p${n % 4}`, amount: `${(n * 31) % 99_991}` },
    createdAt: oldest + n * secondsApart * 1_000,
  };
  return `${JSON.stringify(event)}\n`;
}

/** Imports the file. Returns the median memory of each process during each third of the lines, in megabytes. */
async function memoryByThird(
  more: string[],
  environment: Record<string, string>,
  servers: number[] = [],
): Promise<number[][]> {
  const command = spawnTidings(["import", file, "--json", ...more], environment, "");
  const printed = new Response(command.stdout).text();
  const errors = new Response(command.stderr).text();
  const samples = [command.pid, ...servers].map((pid) => ({ pid, thirds: [[], [], []] as number[][] }));
  while (command.exitCode === null) {
    const done = recordsDone();
    const third = Math.min(Math.floor((done / lines) * 3), 2);
    if (done > 0) for (const { pid, thirds } of samples) thirds[third]!.push(memoryMbOf(pid));
    await Bun.sleep(sampleMs);
  }
  expect([command.exitCode, await errors]).toEqual([0, expect.any(String)]);
  expect(JSON.parse(await printed)).toMatchObject({ accepted: lines, rejected: 0 });
  return samples.map(({ thirds }) => thirds.map(medianOf));
}

function medianOf(values: number[]): number {
  return Math.round(values.sort((a, b) => a - b)[values.length >> 1]!);
}

/** Of the checkpoint, which is written once a second. */
function recordsDone(): number {
  const checkpoint = `${file}.checkpoint`;
  if (!existsSync(checkpoint)) return 0;
  try {
    return (JSON.parse(readFileSync(checkpoint, "utf8")) as { records: number }).records;
  } catch {
    // The import has ended and removed it.
    return 0;
  }
}

test(
  `an import of ${lines.toLocaleString("en")} lines`,
  async () => {
    const { config } = await preparedConfig({});
    const [command] = await memoryByThird([], environmentOf(config));
    console.log(`The import: ${command!.join(", ")} MB.`);
    expect(command![2]! - command![0]!).toBeLessThan(growthMaxMb);
    await removeStorage(config);
  },
  timeoutMs,
);

test(
  "the same over HTTP: the server and the command",
  async () => {
    await using app = await testProcess();
    const environment = { TIDINGS_API_KEY: app.key };
    const [command, server] = await memoryByThird(["--url", app.address], environment, [app.pid]);
    console.log(`The server: ${server!.join(", ")} MB. The command: ${command!.join(", ")} MB.`);
    for (const thirds of [command!, server!]) expect(thirds[2]! - thirds[0]!).toBeLessThan(growthMaxMb);
  },
  timeoutMs,
);
