import { LRUCache } from "lru-cache";
import type { Event } from "../event/event.ts";
import type { Arrival, EventReader } from "../storage/event-store.ts";

const eventsMax = 1_000;

/** Events that notify: recent ones of this process from memory, those of other nodes or from before from the store. */
export class RecentEvents {
  readonly #events: Pick<EventReader, "find">;
  readonly #recent = new LRUCache<string, Arrival>({ max: eventsMax });

  constructor(events: Pick<EventReader, "find">) {
    this.#events = events;
  }

  remember(arrival: Arrival): void {
    this.#recent.set(keyOf(arrival.projectId, arrival.event.id), arrival);
  }

  /**
   * Null if the event was deleted.
   *
   * @param arrivalMs - when it arrived, if known: another node may have deleted it, and a new one may have the same id
   */
  async find(projectId: number, id: string, arrivalMs?: number): Promise<Event | null> {
    const recent = this.#recent.get(keyOf(projectId, id));
    if (recent && (arrivalMs === undefined || recent.arrival.ms === arrivalMs)) return recent.event;
    const json = await this.#events.find(projectId, id);
    return json === null ? null : (JSON.parse(json) as Event);
  }

  /** Drops deleted events. */
  drop(ids: string[]): void {
    const gone = new Set(ids);
    for (const [key, { event }] of this.#recent.entries()) if (gone.has(event.id)) this.#recent.delete(key);
  }
}

function keyOf(projectId: number, id: string): string {
  return `${projectId} ${id}`;
}
