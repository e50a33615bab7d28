import type { Config } from "./config.ts";
import { openPostgresStore } from "./storage/postgres/index.ts";
import { openSqliteStore } from "./storage/sqlite/index.ts";
import type { Store, StoreWatch } from "./storage/store.ts";

/**
 * Opens the store that is configured: PostgreSQL if there is a database URL, otherwise SQLite in the data directory.
 */
export function openStore(
  {
    dataDirectory,
    databaseUrl,
    databaseConnections,
  }: Pick<Config, "dataDirectory" | "databaseUrl" | "databaseConnections">,
  watch: StoreWatch,
): Promise<Store> {
  if (databaseUrl === null) return openSqliteStore(dataDirectory, watch);
  return openPostgresStore({ url: databaseUrl, connections: databaseConnections }, watch);
}
