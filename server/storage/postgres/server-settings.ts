import type { Pool } from "pg";
import { UnfitDatabase } from "./failure.ts";

/** PostgreSQL's `server_version_num`: the oldest that the tests passed on. */
const oldestVersion = 150_000;
/** Where one of these is off, an event that was acknowledged may be lost when the database's machine fails. */
const durable = ["fsync", "full_page_writes", "synchronous_commit"];

/** Throws for a server that is too old, and warns of settings that make a 2xx mean less. */
export async function checkServer(pool: Pool, onWarning: (text: string) => void): Promise<void> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    "SELECT name, setting FROM pg_settings WHERE name = ANY ($1)",
    [["server_version", "server_version_num", ...durable]],
  );
  const settings = new Map(rows.map(({ name, setting }) => [name, setting]));
  checkVersion(Number(settings.get("server_version_num")), settings.get("server_version")!);
  for (const name of durable) {
    if (settings.get(name) !== "off") continue;
    onWarning(`PostgreSQL has ${name} = off: acknowledged events can be lost in a crash. Turn it on.`);
  }
}

/** Throws an UnfitDatabase for a version that is too old. */
export function checkVersion(number: number, version: string): void {
  if (number >= oldestVersion) return;
  throw new UnfitDatabase(
    `Tidings needs PostgreSQL ${oldestVersion / 10_000} or newer, not ${version}. Upgrade the database first.`,
  );
}
