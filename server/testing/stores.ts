import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../storage/sqlite/index.ts";
import type { Store } from "../storage/store.ts";

/** An engine to run the store's suite on: a place of its own, opened as often as a test wants. */
export type StoreEngine = {
  name: string;
  /** Makes an empty place; `open` opens the store there, and `remove` clears it away. */
  place: () => Promise<{ open: () => Promise<Store>; remove: () => Promise<void> }>;
};

export const stores: StoreEngine[] = [
  {
    name: "sqlite",
    place: async () => {
      const directory = mkdtempSync(join(tmpdir(), "tidings-store-"));
      return {
        open: () => openSqliteStore(directory, fail),
        remove: async () => rmSync(directory, { recursive: true, force: true }),
      };
    },
  },
];

function fail(error: Error): never {
  throw error;
}
