import { Turns } from "../../scheduling/turns.ts";
import { grown } from "./grown.ts";
import type { FollowQuery, Watch } from "./queries.ts";
import type { Sources } from "./scan.ts";
import { type Attempt, FunnelSteps } from "./steps.ts";
import { TooLargeError } from "./too-large.ts";

/** Events that are looked at between two looks at the clock. */
const eventsOfTurn = 1_024;

/**
 * Takes people through steps as `followSteps` does, by an engine that passes on their events person by person: so only one
 * person's are in memory. Returns false if the engine can't.
 *
 * @param onPerson - given the times of the steps, and what returns the split's value of the first one
 */
export async function followPersons(
  { aggregates }: Sources,
  { projectId, range, steps: filters, windowMs, split, per }: FollowQuery,
  watch: Watch,
  onPerson: (attempt: Attempt, readValue: () => string | undefined) => void,
): Promise<boolean> {
  if (!aggregates || per !== undefined || split?.by === "user" || split?.by === "group") return false;
  const steps = new FunnelSteps(filters.length, windowMs);
  const events = new PersonEvents();
  const turns = new Turns(projectId, watch.signal);
  let [low, high] = [-1, -1];
  const follow = () => {
    const attempt = steps.furthest(events.ms, events.masks, events.order, 0, events.size);
    if (attempt.length > 0) onPerson(attempt, () => events.valueAt(attempt[0]!));
    events.clear();
  };
  const isDone = await aggregates.steps({ projectId, filters, range, split }, watch, async (block) => {
    const { persons, ms, masks, values } = block;
    for (let at = 0; at < ms.length; at++) {
      if (persons[2 * at] !== low || persons[2 * at + 1] !== high) {
        follow();
        low = persons[2 * at]!;
        high = persons[2 * at + 1]!;
      }
      events.add(ms[at]!, masks[at]!, values ? values.texts[values.indexes[at]! - 1] : undefined);
      if (at % eventsOfTurn === 0 && turns.isOver) await turns.next();
    }
  });
  if (isDone) follow();
  return isDone;
}

/** The events of one person, in the order of time. */
class PersonEvents {
  size = 0;
  ms = new Float64Array(64);
  masks = new Uint8Array(64);
  /** Each event's own index. */
  order = Uint32Array.from({ length: 64 }, (_, index) => index);
  #values: (string | undefined)[] = [];

  add(ms: number, mask: number, value: string | undefined): void {
    if (this.size === this.ms.length) {
      TooLargeError.check("events", this.size);
      this.ms = grown(this.ms);
      this.masks = grown(this.masks);
      this.order = Uint32Array.from(this.ms, (_, index) => index);
    }
    this.ms[this.size] = ms;
    this.masks[this.size] = mask;
    this.#values[this.size++] = value;
  }

  /** The value of a first step at a time. If several events can be it, the least text. */
  valueAt(ms: number): string | undefined {
    let found: string | undefined;
    for (let at = 0; at < this.size; at++) {
      const value = this.#values[at];
      if (this.ms[at] !== ms || !(this.masks[at]! & 1) || value === undefined) continue;
      if (found === undefined || value < found) found = value;
    }
    return found;
  }

  clear(): void {
    this.size = 0;
  }
}
