import { openStore } from "../open-store.ts";
import type { Store } from "../storage/store.ts";
import { makePlace, removePlace, storeEngines, testWatch } from "./engine.ts";

/** A storage engine to run the store's suite on. */
export type StoreEngine = {
  name: string;
  /** Creates empty storage. `open` opens a store on it, as often as needed; `remove` deletes it. */
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
