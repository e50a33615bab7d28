import type { Config } from "../config.ts";
import { openSqliteStore } from "./sqlite/index.ts";
import type { Store, StoreWatch } from "./store.ts";

/** Opens the store that the settings name. */
export function openStore(
  { dataDirectory }: Pick<Config, "dataDirectory" | "databaseUrl" | "databaseConnections">,
  watch: StoreWatch,
): Promise<Store> {
  return openSqliteStore(dataDirectory, watch.onFatal);
}
