import type { Config } from "../config.ts";
import { openSqliteStore } from "./sqlite/index.ts";
import type { Store } from "./store.ts";

/** Opens the store that the settings name. */
export function openStore(config: Config, onFatal: (error: Error) => void): Promise<Store> {
  return openSqliteStore(config.dataDirectory, onFatal);
}
