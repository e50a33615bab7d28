import type { PreparedEvent, QueueStorage } from "./index.ts";

export type OfflineOptions = {
  /** Name of the database. Give each project that a site sends events to its own. Default: `tidings`. */
  name?: string;
};

/** An event, and the page that sends it. */
type SavedEvent = PreparedEvent & { owner: string };

const store = "events";

/**
 * Keeps captured events in IndexedDB until they are stored by the server, so that they survive a closed page and a lost
 * connection. The next page of the site sends what an earlier one left.
 *
 * Pages that are open at the same time share the database. Each holds a Web Lock while it is open, and only the events
 * of pages without one are taken over. If two pages take the same event, it is still stored once, by its `id`.
 *
 * Where there is no IndexedDB, for example on a server, nothing is kept.
 *
 * @example
 * const tidings = createClient({ baseUrl, apiKey, storage: offlineStorage() });
 */
export function offlineStorage({ name = "tidings" }: OfflineOptions = {}): QueueStorage {
  if (typeof indexedDB === "undefined" || typeof navigator === "undefined" || !navigator.locks) {
    return { open() {}, save() {}, remove() {}, close: async () => {} };
  }
  const owner = crypto.randomUUID();
  const lockPrefix = `${name}:page:`;
  const database = openDatabase(name);
  let last: Promise<unknown> = database;
  let release: (() => void) | undefined;
  let takeOver: (() => void) | undefined;

  /** Changes the database. A failure, such as a full disk, costs only the copy: the event is still sent from memory. */
  function change(work: (events: IDBObjectStore) => void): Promise<void> {
    const done = database
      .then((db) => transact(db, work))
      .catch((error) => console.warn("Tidings: events can't be kept.", error));
    last = done;
    return done;
  }

  return {
    open(onEvents) {
      const take = async () => {
        const { held = [] } = await navigator.locks.query();
        const alive = new Set(held.map((lock) => lock.name));
        const taken: SavedEvent[] = [];
        await change((events) => {
          events.openCursor().onsuccess = ({ target }) => {
            const cursor = (target as IDBRequest<IDBCursorWithValue | null>).result;
            if (!cursor) return;
            const saved = cursor.value as SavedEvent;
            if (saved.owner !== owner && !alive.has(lockPrefix + saved.owner)) {
              taken.push(saved);
              cursor.update({ ...saved, owner });
            }
            cursor.continue();
          };
        });
        if (taken.length > 0) onEvents(taken.map(({ id, json }) => ({ id, json })));
      };
      takeOver = () =>
        void take().catch((error) => console.warn("Tidings: kept events can't be read.", error));
      void navigator.locks.request(lockPrefix + owner, () => {
        takeOver?.();
        return new Promise<void>((resolve) => (release = resolve));
      });
      addEventListener("online", takeOver);
    },
    save: ({ id, json }) => void change((events) => events.put({ id, json, owner })),
    remove: (ids) =>
      void change((events) => {
        for (const id of ids) events.delete(id);
      }),
    async close() {
      await last;
      if (takeOver) removeEventListener("online", takeOver);
      release?.();
    },
  };
}

function openDatabase(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(store, { keyPath: "id" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function transact(db: IDBDatabase, work: (events: IDBObjectStore) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = db.transaction(store, "readwrite");
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
    work(transaction.objectStore(store));
  });
}
