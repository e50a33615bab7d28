import { Turns } from "../../scheduling/turns.ts";
import { type Batch, Batches } from "./batch.ts";
import { grown } from "./grown.ts";
import { type Texts, Users } from "./numbered.ts";
import type { FollowPathsQuery } from "./path-queries.ts";
import type { Watch } from "./queries.ts";
import { SameTime } from "./same-time.ts";
import type { Sources } from "./scan.ts";
import { TooLargeError, tooMany } from "./too-large.ts";

/** Share of the progress for finding the anchors. */
const anchorShare = 0.3;

/** The ways of users from their anchors. Names are numbers in `names`, from 1 on. */
export type FollowedPaths = {
  users: Users;
  names: Texts;
  anchorMsOf: (user: number) => number;
  /** The name of a step, from 1 on: the next one to the anchor; 0 if the user's path has ended before. */
  nameOf: (user: number, step: number) => number;
  /** The time of a step that the path has. */
  msOf: (user: number, step: number) => number;
};

/**
 * Finds each user's anchor, and then the steps after or before it. The second reading knows the anchors, so that it
 * keeps nothing of users without one.
 *
 * Events of the same millisecond have no order. Those of the anchor's count as steps, and all are taken in the order of
 * their names' code units, away from the anchor.
 *
 * @param keepsTimes - whether `msOf` will be called
 */
export async function followPaths(
  { scan, readPeople }: Sources,
  query: FollowPathsQuery,
  watch: Watch,
  keepsTimes = false,
): Promise<FollowedPaths> {
  const { projectId, range, anchor, steps, direction, windowMs, length, mergesRepeats } = query;
  const fields = { users: true, split: { by: "name" } } as const;
  const first = new Batches(fields, [anchor], new Users(await readPeople(projectId), "followedUsers"));
  const anchors = new Anchors(first.values);
  await tooMany(
    "names",
    scan({ projectId, filters: [anchor], range, fields }, first, (batch) => anchors.add(batch), {
      ...watch,
      onProgress: (done) => watch.onProgress?.(done * anchorShare),
    }),
  );
  const { users } = first;
  users.close();

  const second = new Batches(fields, [steps, anchor], users);
  // The same numbers for the same names.
  for (const text of first.values.texts) second.values.add(text);
  const names = second.values;
  const ways = new Ways({
    users: users.count,
    length,
    isAfter: direction === "after",
    mergesRepeats,
    keepsTimes,
  });
  const group = new SameTime({
    names,
    users: users.count,
    isAfter: direction === "after",
    mergesRepeats,
    // Before the anchor, the nearest step can be one with it, too.
    most: length + 2,
    turns: new Turns(projectId, watch.signal),
    pass: (user, name, ms) => ways.add(user, name, ms, anchors.nameOf(user)),
  });
  const isAnchorLeftOut = new Uint8Array(users.count + 1);
  const take = async ({ size, ms, masks, users: own, values }: Batch) => {
    for (let at = 0; at < size; at++) {
      const user = own[at]!;
      if (user === 0 || !(masks[at]! & 1)) continue;
      const time = ms[at]!;
      const distance = direction === "after" ? time - anchors.msOf(user) : anchors.msOf(user) - time;
      if (distance < 0 || distance > windowMs) continue;
      const name = values[at]!;
      if (distance === 0 && masks[at]! & 2 && isAnchorLeftOut[user] === 0 && name === anchors.nameOf(user)) {
        isAnchorLeftOut[user] = 1;
        continue;
      }
      const flushing = time === group.ms ? null : group.flush();
      if (flushing) await flushing;
      group.add(user, name, time);
    }
  };
  const around = anchors.around(direction, windowMs, range);
  if (around.fromMs < around.toMs)
    await tooMany(
      "names",
      scan({ projectId, filters: [steps, anchor], range: around, fields }, second, take, {
        ...watch,
        onProgress: (done) => watch.onProgress?.(anchorShare + done * (1 - anchorShare)),
      }),
    );
  await group.flush();
  return {
    users,
    names,
    anchorMsOf: (user) => anchors.msOf(user),
    nameOf: (user, step) => ways.nameOf(user, step, anchors.nameOf(user)),
    msOf: (user, step) => ways.msOf(user, step, anchors.nameOf(user)),
  };
}

/** The first event of each user that matches, of several at the same time the one whose name is the least text. */
class Anchors {
  readonly #names: Texts;
  /** By user: milliseconds since 1970. */
  #ms = new Float64Array(1_024);
  #name = new Uint32Array(1_024);
  #firstMs = Number.POSITIVE_INFINITY;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(names: Texts) {
    this.#names = names;
  }

  msOf(user: number): number {
    return this.#ms[user]!;
  }

  nameOf(user: number): number {
    return this.#name[user]!;
  }

  add({ size, ms, users, values }: Batch): void {
    const { texts } = this.#names;
    for (let at = 0; at < size; at++) {
      const user = users[at]!;
      if (user === 0) continue;
      while (user >= this.#ms.length) {
        this.#ms = grown(this.#ms);
        this.#name = grown(this.#name);
      }
      const known = this.#name[user]!;
      const name = values[at]!;
      if (known === 0) {
        this.#ms[user] = ms[at]!;
        this.#name[user] = name;
        this.#firstMs = Math.min(this.#firstMs, ms[at]!);
        this.#lastMs = ms[at]!;
      } else if (this.#ms[user] === ms[at] && texts[name - 1]! < texts[known - 1]!) this.#name[user] = name;
    }
  }

  /** The time in which steps can be. */
  around(direction: FollowPathsQuery["direction"], windowMs: number, range: FollowPathsQuery["range"]) {
    return direction === "after"
      ? {
          fromMs: Math.max(range.fromMs, this.#firstMs),
          toMs: Math.min(range.toMs, this.#lastMs + windowMs + 1),
        }
      : {
          fromMs: Math.max(range.fromMs, this.#firstMs - windowMs),
          toMs: Math.min(range.toMs, this.#lastMs + 1),
        };
  }
}

type WaysOptions = {
  users: number;
  length: number;
  isAfter: boolean;
  mergesRepeats: boolean;
  keepsTimes: boolean;
};

/** The steps of users. After the anchor the first ones stay, before it the last ones. */
class Ways {
  readonly #isAfter: boolean;
  readonly #merges: boolean;
  readonly #length: number;
  /** Places of a user. Before the anchor one more: the step next to it may have its name, and so be one with it. */
  readonly #places: number;
  readonly #counts: Uint32Array;
  readonly #last: Uint32Array;
  readonly #names: Uint32Array;
  readonly #ms: Float64Array | null;

  /** Throws `TooLargeError`. */
  constructor({ users, length, isAfter, mergesRepeats, keepsTimes }: WaysOptions) {
    this.#isAfter = isAfter;
    this.#merges = mergesRepeats;
    this.#length = length;
    this.#places = isAfter ? length : length + 1;
    TooLargeError.check("places", users * this.#places - 1);
    this.#counts = new Uint32Array(users + 1);
    this.#last = new Uint32Array(users + 1);
    this.#names = new Uint32Array((users + 1) * this.#places);
    this.#ms = keepsTimes ? new Float64Array((users + 1) * this.#places) : null;
  }

  /** Adds a step in the order of time. */
  add(user: number, name: number, ms: number, anchorName: number): void {
    const count = this.#counts[user]!;
    if (this.#isAfter && count === this.#length) return;
    const first = user * this.#places;
    // The first name after the anchor can be the anchor's, and then is no step.
    const before = count === 0 && this.#isAfter && this.#last[user] === 0 ? anchorName : this.#last[user]!;
    if (this.#merges && name === before) {
      // Before the anchor, the last one of a row is the nearest.
      if (!this.#isAfter && this.#ms) this.#ms[first + ((count - 1) % this.#places)] = ms;
      return;
    }
    this.#last[user] = name;
    this.#names[first + (count % this.#places)] = name;
    if (this.#ms) this.#ms[first + (count % this.#places)] = ms;
    this.#counts[user] = count + 1;
  }

  nameOf(user: number, step: number, anchorName: number): number {
    const place = this.#placeOf(user, step, anchorName);
    return place === null ? 0 : this.#names[place]!;
  }

  msOf(user: number, step: number, anchorName: number): number {
    return this.#ms![this.#placeOf(user, step, anchorName)!]!;
  }

  #placeOf(user: number, step: number, anchorName: number): number | null {
    const count = this.#counts[user]!;
    if (this.#isAfter) return step <= count ? user * this.#places + step - 1 : null;
    const isOneWithAnchor = this.#merges && count > 0 && this.#last[user] === anchorName;
    const index = count - step - (isOneWithAnchor ? 1 : 0);
    return index < 0 ? null : user * this.#places + (index % this.#places);
  }
}
