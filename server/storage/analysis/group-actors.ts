import { Turns } from "../../scheduling/turns.ts";
import type { Batch } from "./batch.ts";
import { grown } from "./grown.ts";
import { type Memberships, readMemberships } from "./memberships.ts";
import type { Users } from "./numbered.ts";
import type { AnalysisSplit, Watch } from "./queries.ts";
import type { Scan, Sources } from "./scan.ts";

/** Entries that are passed on between two looks at the clock. */
const partEntries = 8_192;

type Wanted = { projectId: number; per: string; split?: AnalysisSplit | undefined };

/**
 * A scan whose batches have groups in the place of users, as numbers in `groups`: an entry for each group that an event
 * belongs to, one without a group for an event of none. With a split by groups of this type, the value is the group's
 * own.
 */
export function scanPerGroup(
  { scan, readGroups }: Pick<Sources, "scan" | "readGroups">,
  { projectId, per: type, split: by }: Wanted,
  groups: Users,
): Scan {
  const split = by?.by === "group" ? by : undefined;
  let memberships: Memberships | null = null;
  /** The values of groups by their IDs; null without a split by a property. */
  let valueOfId: Map<string, string> | null = null;

  async function read(users: Users, watch: Watch): Promise<Memberships> {
    if (split?.key !== undefined) {
      const values = new Map<string, string>();
      await readGroups.property(
        { projectId, type, key: split.key },
        (groupId, value) => values.set(groupId, value),
        watch,
      );
      valueOfId = values;
    }
    const read = await readMemberships({ readGroups }, { projectId, type }, users, watch);
    // Nobody else is in a group. Users with a property are still to be read.
    if (by?.by !== "user") users.close();
    return read;
  }

  return async function scanEntries(query, batches, take, watch) {
    memberships ??= await read(batches.users, watch);
    const entries = new Entries(memberships, groups);
    const turns = new Turns(projectId, watch.signal);
    const valueOfLabel = (label: number): number => {
      const id = memberships!.labels[label - 1]!;
      const text = valueOfId ? valueOfId.get(id) : id;
      return text === undefined ? 0 : batches.values.add(text);
    };
    const takeParts = async (batch: Batch) => {
      for (let at = 0; at < batch.size; at++) {
        const named = batch.named[at]!;
        if (named !== 0) {
          const label = memberships!.named(batches.groups.texts[named - 1]!);
          entries.add(batch, at, label, split && label !== 0 ? valueOfLabel(label) : batch.values[at]!);
        } else {
          const labels = memberships!.of(batch.users[at]!);
          if (labels.length === 0) entries.add(batch, at, 0, split ? 0 : batch.values[at]!);
          for (let index = 0; index < labels.length; index++) {
            if (entries.isFull) await pass(batch);
            const label = labels[index]!;
            entries.add(batch, at, label, split ? valueOfLabel(label) : batch.values[at]!, index > 0);
          }
        }
        if (entries.isFull) await pass(batch);
      }
      await pass(batch);
    };
    const pass = async (batch: Batch) => {
      await take(entries.take(batch));
      await turns.next();
    };
    await scan(query, batches, takeParts, watch);
  };
}

/** The users of entries are groups, so nobody reads which groups events name. */
const noNames = new Uint32Array();
/** Events of users are never passed on as one. */
const ones = new Float64Array(partEntries).fill(1);

/** Entries of groups that are passed on together. */
class Entries {
  readonly #memberships: Memberships;
  readonly #groups: Users;
  /** By label: its number in `groups`, plus 1; 0 if it wasn't looked up. */
  #numbers = new Uint32Array(1_024);
  #size = 0;
  readonly #ms = new Float64Array(partEntries);
  readonly #masks = new Uint8Array(partEntries);
  readonly #users = new Uint32Array(partEntries);
  readonly #values = new Uint32Array(partEntries);
  readonly #numbersOfTags = new Uint32Array(partEntries);
  readonly #repeats = new Uint8Array(partEntries);

  constructor(memberships: Memberships, groups: Users) {
    this.#memberships = memberships;
    this.#groups = groups;
  }

  get isFull(): boolean {
    return this.#size === partEntries;
  }

  add(batch: Batch, at: number, label: number, value: number, repeats = false): void {
    const own = this.#size++;
    this.#ms[own] = batch.ms[at]!;
    this.#masks[own] = batch.masks[at]!;
    this.#users[own] = label === 0 ? 0 : this.#numberOf(label);
    this.#values[own] = value;
    this.#numbersOfTags[own] = batch.numbers[at]!;
    this.#repeats[own] = repeats ? 1 : 0;
  }

  take(batch: Batch): Batch {
    const size = this.#size;
    this.#size = 0;
    return {
      size,
      ms: this.#ms,
      counts: ones,
      additions: ones,
      masks: this.#masks,
      users: this.#users,
      values: this.#values,
      named: noNames,
      numbers: this.#numbersOfTags,
      tagNumbers: batch.tagNumbers,
      repeats: this.#repeats,
    };
  }

  /** 0 if groups are closed and don't have it. */
  #numberOf(label: number): number {
    while (label >= this.#numbers.length) this.#numbers = grown(this.#numbers);
    if (this.#numbers[label] === 0)
      this.#numbers[label] = this.#groups.add(this.#memberships.labels[label - 1]!) + 1;
    return this.#numbers[label]! - 1;
  }
}
