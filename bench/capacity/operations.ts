import { Database } from "bun:sqlite";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Servers } from "../kept-servers.ts";

/** How long operations took, in seconds. The server is stopped for a rebuild and a restore. */
export type Operations = { backup: number | null; doctor: number; rebuild: number; restore: number | null };

/** What a million events add to each, from the times with fewer and with `events` more of them. */
export function perMillion(few: Operations, many: Operations, events: number): Operations {
  const added = (from: number, to: number) => Math.max(0, ((to - from) / events) * 1_000_000);
  const optional = (from: number | null, to: number | null) =>
    from === null || to === null ? null : added(from, to);
  return {
    backup: optional(few.backup, many.backup),
    doctor: added(few.doctor, many.doctor),
    rebuild: added(few.rebuild, many.rebuild),
    restore: optional(few.restore, many.restore),
  };
}

/** Measures each once. PostgreSQL's own tools back it up. */
export async function measureOperations(servers: Servers, directory: string): Promise<Operations> {
  const isSqlite = servers.engine === "sqlite";
  const backups = join(directory, "backups");
  mkdirSync(backups, { recursive: true });
  const backup = isSqlite ? await secondsOf(() => servers.command(["backup", "--to", backups])) : null;
  await servers.end("SIGTERM");
  const doctor = await secondsOf(() => servers.faults());
  await loseSomeTokens(servers);
  const rebuild = await secondsOf(() => servers.repair());
  // The server builds the blocks again once it runs.
  const left = (await servers.faults()).filter((fault) => !fault.startsWith("events in no block:"));
  if (left.length > 0) throw new Error(`The rebuild left faults: ${left.join("; ")}`);
  const restore = isSqlite ? await secondsOf(() => servers.command(["restore", backups])) : null;
  rmSync(backups, { recursive: true });
  // What the restore replaced would count as disk of the events.
  for (const name of readdirSync(servers.dataDirectory))
    if (name.startsWith("replaced-")) rmSync(join(servers.dataDirectory, name), { recursive: true });
  await servers.start();
  return { backup, doctor, rebuild, restore };
}

/** Makes `tidings doctor --fix` rebuild the index of all events. */
async function loseSomeTokens(servers: Servers): Promise<void> {
  if (servers.engine === "postgres") {
    await servers.query("UPDATE events SET tokens = '' WHERE id IN (SELECT id FROM events LIMIT 7)");
    return;
  }
  using database = new Database(join(servers.dataDirectory, "tidings.db"));
  database.run("DELETE FROM events_index WHERE rowid IN (SELECT row_key FROM events LIMIT 7)");
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (performance.now() - startedMs) / 1_000;
}
