import { Turns } from "../../scheduling/turns.ts";
import { grown } from "./grown.ts";
import type { Users } from "./numbered.ts";
import type { Watch } from "./queries.ts";
import type { Sources } from "./scan.ts";
import { TooLargeError } from "./too-large.ts";

/** Members that are sorted between two looks at the clock. */
const stepMembers = 8_192;

/** Groups of a type; with `key`, the values of a property of theirs. */
type Wanted = { projectId: number; type: string; key?: string | undefined };

/**
 * The groups of each person or, in their place, the values that these groups have of a property: _labels_, which are
 * numbered from 1 on. A person has each of them once, however many of their IDs are members.
 *
 * Invariant: an analysis counts an event for the groups for which a search finds it. Checked by
 * `server/groups/group-analysis.test.ts`.
 */
export class Memberships {
  readonly labels: readonly string[];
  /** Where the labels of each user begin. */
  readonly #starts: Uint32Array;
  readonly #ofUsers: Uint32Array;
  readonly #labelOf: (groupId: string) => number;

  constructor(
    labels: readonly string[],
    { starts, ofUsers }: { starts: Uint32Array; ofUsers: Uint32Array },
    labelOf: (groupId: string) => number,
  ) {
    this.labels = labels;
    this.#starts = starts;
    this.#ofUsers = ofUsers;
    this.#labelOf = labelOf;
  }

  /** The labels of a user, by their number; none for 0. */
  of(user: number): Uint32Array {
    const from = this.#starts[user];
    return from === undefined ? noLabels : this.#ofUsers.subarray(from, this.#starts[user + 1]);
  }

  /** The label of a group that an event names; 0 for none. No group has an empty ID. */
  named(groupId: string): number {
    return groupId === "" ? 0 : this.#labelOf(groupId);
  }
}

const noLabels = new Uint32Array();

/**
 * Reads the members of all groups of a type, as they are now.
 *
 * @param users - those of the analysis: members get numbers in it. Throws `TooLargeError`
 */
export async function readMemberships(
  { readGroups }: Pick<Sources, "readGroups">,
  { projectId, type, key }: Wanted,
  users: Users,
  watch: Watch,
): Promise<Memberships> {
  const labels: string[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (label: string) => {
    const known = numbers.get(label);
    if (known !== undefined) return known;
    labels.push(label);
    numbers.set(label, labels.length);
    return labels.length;
  };
  const values = key === undefined ? null : new Map<string, number>();
  if (values)
    await readGroups.property(
      { projectId, type, key: key! },
      (groupId, value) => values.set(groupId, numberOf(value)),
      watch,
    );
  const labelOf = values ? (groupId: string) => values.get(groupId) ?? 0 : numberOf;
  const members = new Members();
  let [lastGroup, lastLabel] = ["", 0];
  await readGroups.members(
    { projectId, type },
    (groupId, userId) => {
      if (groupId !== lastGroup) [lastGroup, lastLabel] = [groupId, labelOf(groupId)];
      if (lastLabel !== 0) members.add(users.add(userId), lastLabel);
    },
    watch,
  );
  return new Memberships(
    labels,
    await members.byUser(users.count, new Turns(projectId, watch.signal)),
    labelOf,
  );
}

/** Pairs of a user and a label. */
class Members {
  #size = 0;
  #users = new Uint32Array(1_024);
  #labels = new Uint32Array(1_024);

  add(user: number, label: number): void {
    if (user === 0) return;
    TooLargeError.check("memberships", this.#size);
    if (this.#size === this.#users.length) {
      this.#users = grown(this.#users);
      this.#labels = grown(this.#labels);
    }
    this.#users[this.#size] = user;
    this.#labels[this.#size++] = label;
  }

  /** The labels of each user in ascending order, each once, and where those of a user begin. */
  async byUser(users: number, turns: Turns): Promise<{ starts: Uint32Array; ofUsers: Uint32Array }> {
    const starts = new Uint32Array(users + 2);
    for (let at = 0; at < this.#size; at++) starts[this.#users[at]! + 1]!++;
    for (let user = 1; user < starts.length; user++) starts[user]! += starts[user - 1]!;
    await turns.next();
    const next = starts.slice();
    const ofUsers = new Uint32Array(this.#size);
    for (let at = 0; at < this.#size; at++) {
      ofUsers[next[this.#users[at]!]!++] = this.#labels[at]!;
      if (at % stepMembers === 0) await turns.next();
    }
    let size = 0;
    for (let user = 0; user <= users; user++) {
      const own = ofUsers.subarray(starts[user], starts[user + 1]).sort();
      starts[user] = size;
      // The numbers move towards the beginning, over those that were taken before.
      for (let at = 0; at < own.length; at++)
        if (at === 0 || own[at] !== own[at - 1]) ofUsers[size++] = own[at]!;
      if (user % stepMembers === 0) await turns.next();
    }
    starts[users + 1] = size;
    return { starts, ofUsers: ofUsers.slice(0, size) };
  }
}
