import { open, readFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { deleteFolder, makeFolder, root, run } from "./processes.ts";
import { median } from "./table.ts";

/** Describes the machine in one line, so that figures can be compared. */
export async function describeMachine(): Promise<string> {
  const cores = cpus();
  const [node, handWritten] = await Promise.all([
    run({ command: ["node", "--version"] }),
    readFile(join(root, "bench/package.json"), "utf8"),
  ]);
  const { dependencies } = JSON.parse(handWritten) as { dependencies: Record<string, string> };
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`;
  return [
    `${cores.length} cores (${cores[0]?.model.trim() ?? "unknown"}), ${memory}`,
    `${process.platform} ${process.arch}`,
    `fdatasync of 4 kB ${(await measureSyncMs()).toFixed(2)} ms`,
    `Bun ${Bun.version}`,
    `Node ${node.trim().slice(1)}, fastify ${dependencies.fastify}, better-sqlite3 ${dependencies["better-sqlite3"]}`,
    new Date().toISOString().slice(0, 10),
  ].join("; ");
}

/** The share of the processors in use during one second, from 0 to 1. */
export async function measureBusyShare(): Promise<number> {
  const before = processorTimes();
  await Bun.sleep(1_000);
  const after = processorTimes();
  return 1 - (after.idle - before.idle) / (after.total - before.total);
}

function processorTimes(): { idle: number; total: number } {
  const times = cpus().map((core) => core.times);
  const idle = times.reduce((sum, core) => sum + core.idle, 0);
  const busy = times.reduce((sum, core) => sum + core.user + core.nice + core.sys + core.irq, 0);
  return { idle, total: idle + busy };
}

/** The median time of a durable write, the minimum cost of a commit on this disk. */
async function measureSyncMs(): Promise<number> {
  const folder = await makeFolder();
  const file = await open(join(folder, "sync"), "w");
  const page = Buffer.alloc(4_096);
  const times: number[] = [];
  for (let count = 0; count < 200; count++) {
    const startedAt = performance.now();
    await file.write(page);
    await file.datasync();
    times.push(performance.now() - startedAt);
  }
  await file.close();
  await deleteFolder(folder);
  return median(times);
}
