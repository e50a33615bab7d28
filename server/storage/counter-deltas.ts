const hourMs = 3_600_000;

type Count = {
  projectId: number;
  channel: string;
  name: string;
  hour: number;
  events: number;
  lastMs: number;
};

/**
 * Counts events by project, channel, name and hour, so that a commit runs a statement for each sum, not for each event.
 */
export class CounterDeltas {
  readonly #byHour = new Map<string, Count>();

  get isEmpty(): boolean {
    return this.#byHour.size === 0;
  }

  add(projectId: number, channel: string, name: string, ms: number): void {
    this.#add(projectId, channel, name, Math.floor(ms / hourMs), 1, ms);
  }

  toJson(): string {
    const counts: unknown[] = [];
    for (const { projectId, channel, name, hour, events, lastMs } of this.#byHour.values()) {
      counts.push([projectId, channel, name, hour, events, lastMs]);
    }
    return JSON.stringify(counts);
  }

  /** Adds what `toJson` returned. */
  addJson(json: string): void {
    const counts = JSON.parse(json) as [number, string, string, number, number, number][];
    for (const count of counts) this.#add(...count);
  }

  byHour(): Iterable<Count> {
    return this.#byHour.values();
  }

  byChannelAndHour(): Iterable<Count> {
    return this.#sums(({ projectId, channel, hour }) => `${projectId} ${hour} ${channel}`);
  }

  byChannel(): Iterable<Count> {
    return this.#sums(({ projectId, channel }) => `${projectId} ${channel}`);
  }

  #add(projectId: number, channel: string, name: string, hour: number, events: number, lastMs: number): void {
    const key = `${projectId} ${hour} ${channel}\0${name}`;
    const count = this.#byHour.get(key);
    if (count === undefined) this.#byHour.set(key, { projectId, channel, name, hour, events, lastMs });
    else {
      count.events += events;
      if (lastMs > count.lastMs) count.lastMs = lastMs;
    }
  }

  #sums(keyOf: (count: Count) => string): Iterable<Count> {
    const sums = new Map<string, Count>();
    for (const count of this.#byHour.values()) {
      const key = keyOf(count);
      const sum = sums.get(key);
      if (sum === undefined) sums.set(key, { ...count });
      else {
        sum.events += count.events;
        sum.lastMs = Math.max(sum.lastMs, count.lastMs);
      }
    }
    return sums.values();
  }
}
