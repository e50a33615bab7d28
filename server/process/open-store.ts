import type { Config } from "../config/config.ts";
import type { Store, StoreWatch } from "../storage/store.ts";

/**
 * Opens the store that is configured: PostgreSQL if there is a database URL, with ClickHouse behind it if there is one of
 * that, otherwise SQLite in the data directory. Other engines' code is not loaded.
 *
 * Invariant: outside `storage/` and `migrate-to/`, only settings, commands, the doctor, the list of the program's files
 * and this file know which engine runs. Checked by `scripts/engines.mjs`.
 *
 * @param migrations - directories with the migrations, if they are not the program's own
 */
export async function openStore(
  {
    dataDirectory,
    databaseUrl,
    databaseConnections,
    clickhouseUrl = null,
  }: Pick<Config, "dataDirectory" | "databaseUrl" | "databaseConnections"> &
    Partial<Pick<Config, "clickhouseUrl">>,
  watch: StoreWatch,
  migrations?: readonly string[],
): Promise<Store> {
  if (databaseUrl === null) {
    const { openSqliteStore } = await import("../storage/sqlite/index.ts");
    return openSqliteStore(dataDirectory, watch, undefined, migrations);
  }
  const { openPostgresStore } = await import("../storage/postgres/index.ts");
  const clickHouse = clickhouseUrl === null ? null : await import("../storage/clickhouse/index.ts");
  return openPostgresStore(
    { url: databaseUrl, connections: databaseConnections },
    watch,
    undefined,
    migrations,
    clickHouse?.openClickHouse(clickhouseUrl!),
  );
}

export type OpenStore = typeof openStore;
