import { LRUCache } from "lru-cache";
import type { Event } from "../event/event.ts";
import type { Arrival, EventReader } from "../storage/store.ts";

const eventsMax = 1_000;

/** Events that notify: recent ones of this process from memory, those of other nodes or from before from the store. */
export class RecentEvents {
  readonly #events: Pick<EventReader, "find">;
  readonly #recent = new LRUCache<string, Event>({ max: eventsMax });

  constructor(events: Pick<EventReader, "find">) {
    this.#events = events;
  }

  remember({ projectId, event }: Arrival): void {
    this.#recent.set(keyOf(projectId, event.id), event);
  }

  /** Null if the event was deleted. */
  async find(projectId: number, id: string): Promise<Event | null> {
    const recent = this.#recent.get(keyOf(projectId, id));
    if (recent) return recent;
    const json = await this.#events.find(projectId, id);
    return json === null ? null : (JSON.parse(json) as Event);
  }

  /** Drops deleted events. */
  drop(ids: string[]): void {
    const gone = new Set(ids);
    for (const [key, { id }] of this.#recent.entries()) if (gone.has(id)) this.#recent.delete(key);
  }
}

function keyOf(projectId: number, id: string): string {
  return `${projectId} ${id}`;
}
