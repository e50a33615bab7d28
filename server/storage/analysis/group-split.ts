import { Turns } from "../../scheduling/turns.ts";
import type { Batch, Batches } from "./batch.ts";
import { grown } from "./grown.ts";
import { type Memberships, readMemberships } from "./memberships.ts";
import type { GroupSplit } from "./queries.ts";
import type { Scan, Sources } from "./scan.ts";

/** Marks a value of a batch that stands for all values of a user: the rest is their number. */
export const severalBit = 0x80000000;

/** Values of events that are passed on between two looks at the clock. */
const partValues = 8_192;

/** A scan for a split by groups, and the values that a value with `severalBit` stands for. */
export type GroupScan = { scan: Scan; valuesOf: (value: number) => readonly number[] };

/**
 * A scan whose batches have the groups that an event belongs to as its values, or what these have of a property: of the
 * group that it names, otherwise of its user's groups.
 */
export function scanForGroups(sources: Pick<Sources, "scan" | "readGroups">, split: GroupSplit): GroupScan {
  /** The numbers of users and values are those of the batches that they were read for. */
  let known: { batches: Batches; values: ValuesOfGroups } | null = null;
  return {
    valuesOf: (value) => known!.values.several(value),
    async scan(query, batches, take, watch) {
      const { projectId } = query;
      if (known?.batches !== batches) {
        const memberships = await readMemberships(sources, { ...split, projectId }, batches.users, watch);
        known = { batches, values: new ValuesOfGroups(memberships, batches) };
      }
      const { values } = known;
      const turns = new Turns(projectId, watch.signal);
      const takeParts = async (batch: Batch) => {
        let from = 0;
        let found = 0;
        for (let at = 0; at < batch.size; at++) {
          found += values.set(batch, at);
          if (found < partValues && at + 1 < batch.size) continue;
          await take(partOf(batch, from, at + 1));
          await turns.next();
          from = at + 1;
          found = 0;
        }
      };
      await sources.scan(query, batches, takeParts, watch);
    },
  };
}

/** The values of batches, by users and by the groups that events name. */
class ValuesOfGroups {
  readonly #memberships: Memberships;
  readonly #batches: Batches;
  /** By label: the number of its text in the batches' values; 0 if no event had it so far. */
  #numbers = new Uint32Array(1_024);

  constructor(memberships: Memberships, batches: Batches) {
    this.#memberships = memberships;
    this.#batches = batches;
  }

  /** Sets the value of an event. Returns how many it stands for, at least 1. */
  set(batch: Batch, at: number): number {
    const named = batch.named[at]!;
    if (named !== 0) {
      const label = this.#memberships.named(this.#batches.groups.texts[named - 1]!);
      batch.values[at] = label === 0 ? 0 : this.#numberOf(label);
      return 1;
    }
    const user = batch.users[at]!;
    const labels = this.#memberships.of(user);
    if (labels.length > 1) batch.values[at] = severalBit | user;
    else batch.values[at] = labels.length === 0 ? 0 : this.#numberOf(labels[0]!);
    return Math.max(labels.length, 1);
  }

  several(value: number): number[] {
    return Array.from(this.#memberships.of(value & ~severalBit), (label) => this.#numberOf(label));
  }

  #numberOf(label: number): number {
    while (label >= this.#numbers.length) this.#numbers = grown(this.#numbers);
    if (this.#numbers[label] === 0)
      this.#numbers[label] = this.#batches.values.add(this.#memberships.labels[label - 1]!);
    return this.#numbers[label]!;
  }
}

/** Some events of a batch. */
function partOf(batch: Batch, from: number, to: number): Batch {
  if (from === 0 && to === batch.size) return batch;
  return {
    ...batch,
    size: to - from,
    ms: batch.ms.subarray(from, to),
    masks: batch.masks.subarray(from, to),
    users: batch.users.subarray(from, to),
    values: batch.values.subarray(from, to),
    named: batch.named.subarray(from, to),
    numbers: batch.numbers.subarray(from, to),
  };
}
