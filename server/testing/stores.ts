import { openStore } from "../open-store.ts";
import type { Store } from "../storage/store.ts";
import { makePlace, removePlace, storeEngines, testWatch } from "./engine.ts";

/** An engine to run the store's suite on: a place of its own, opened as often as a test wants. */
export type StoreEngine = {
  name: string;
  /** Makes an empty place; `open` opens the store there, and `remove` clears it away. */
  place: () => Promise<{ open: () => Promise<Store>; remove: () => Promise<void> }>;
};

export const stores: StoreEngine[] = storeEngines.map((name) => ({
  name,
  place: async () => {
    const place = await makePlace(name);
    return {
      open: () => openStore({ ...place, databaseConnections: 5 }, testWatch),
      remove: () => removePlace(place),
    };
  },
}));
