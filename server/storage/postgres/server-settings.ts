import type { ClientBase, Pool } from "pg";
import { UnfitDatabase } from "./failure.ts";

/** The oldest `server_version_num` that passes the tests. */
const oldestVersion = 150_000;
/** If one of these is off, acknowledged events can be lost when the database's machine crashes. */
const durable = ["fsync", "full_page_writes", "synchronous_commit"];

/** Throws if the server is too old. Warns of settings with which a 2xx does not mean that an event is durable. */
export async function checkServer(
  connection: Pool | ClientBase,
  onWarning: (text: string) => void,
): Promise<void> {
  const { rows } = await connection.query<{ name: string; setting: string }>(
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

/** Throws `UnfitDatabase` if the version is too old. */
export function checkVersion(number: number, version: string): void {
  if (number >= oldestVersion) return;
  throw new UnfitDatabase(
    `Tidings needs PostgreSQL ${oldestVersion / 10_000} or newer, not ${version}. Upgrade the database first.`,
  );
}
