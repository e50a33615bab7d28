const hourMs = 3_600_000;

type Count = {
  projectId: number;
  channel: string;
  name: string;
  hour: number;
  events: number;
  lastMs: number;
};

/** What a batch adds to the counters, summed first: a statement for each sum, not for each event. */
export class Counts {
  readonly #byHour = new Map<string, Count>();

  add(projectId: number, channel: string, name: string, ms: number): void {
    const hour = Math.floor(ms / hourMs);
    const key = `${projectId} ${hour} ${channel}\0${name}`;
    const count = this.#byHour.get(key);
    if (count === undefined) this.#byHour.set(key, { projectId, channel, name, hour, events: 1, lastMs: ms });
    else {
      count.events++;
      if (ms > count.lastMs) count.lastMs = ms;
    }
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
