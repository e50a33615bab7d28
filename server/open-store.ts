import type { Config } from "./config.ts";
import { openPostgresStore } from "./storage/postgres/index.ts";
import { openSqliteStore } from "./storage/sqlite/index.ts";
import type { Store, StoreWatch } from "./storage/store.ts";

/**
 * Opens the store that is configured: PostgreSQL if there is a database URL, otherwise SQLite in the data directory.
 *
 * @param migrations - the directory with the migrations, if they are not the program's own
 */
export function openStore(
  {
    dataDirectory,
    databaseUrl,
    databaseConnections,
  }: Pick<Config, "dataDirectory" | "databaseUrl" | "databaseConnections">,
  watch: StoreWatch,
  migrations?: string,
): Promise<Store> {
  if (databaseUrl === null) return openSqliteStore(dataDirectory, watch, undefined, migrations);
  return openPostgresStore(
    { url: databaseUrl, connections: databaseConnections },
    watch,
    undefined,
    migrations,
  );
}
