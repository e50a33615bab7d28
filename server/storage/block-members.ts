import type { MembersCondition } from "../event/match.ts";
import { userWords } from "../event/user-hash.ts";
import { hasHash } from "../event/user-set.ts";
import { columnName, hasAllTags, indexesIn, unpackUsers } from "./analysis/columns.ts";
import type { Bits } from "./bits.ts";

type ReadColumn = (name: string) => Uint8Array | undefined;

/** The columns of a block that `ordinalsOfMembers` can read. */
export function membersColumns({ withoutTag }: Pick<MembersCondition, "withoutTag">): string[] {
  const ofTag = withoutTag === undefined ? [] : [columnName.tag(withoutTag), columnName.list];
  return [columnName.user, ...ofTag];
}

/**
 * The ordinals of a block's events of users in a set, without those that have the tag.
 *
 * @returns undefined if the block can't tell, because it lacks a column
 */
export function ordinalsOfMembers(
  { set, withoutTag }: MembersCondition,
  events: number,
  read: ReadColumn,
): Bits | null | undefined {
  const column = read(columnName.user);
  if (column === undefined) return undefined;
  const tagIndexes = withoutTag === undefined ? null : tagIndexesIn(withoutTag, read);
  if (tagIndexes === undefined) return undefined;
  const { indexes, hashes } = unpackUsers(column);
  const isMember = new Uint8Array(hashes.length / userWords + 1);
  let members = 0;
  for (let user = 1; user < isMember.length; user++) {
    const at = (user - 1) * userWords;
    if (!hasHash(set, hashes[at]!, hashes[at + 1]!, hashes[at + 2]!)) continue;
    isMember[user] = 1;
    members++;
  }
  if (members === 0) return null;
  const bits: Bits = new Uint32Array((events + 31) >>> 5);
  for (let ordinal = 0; ordinal < events; ordinal++)
    if (isMember[indexes[ordinal]!] === 1) bits[ordinal >>> 5]! |= 1 << (ordinal & 31);
  if (tagIndexes)
    for (let ordinal = 0; ordinal < events; ordinal++)
      if (tagIndexes[ordinal] !== 0) bits[ordinal >>> 5]! &= ~(1 << (ordinal & 31));
  return bits;
}

/** For each ordinal, not 0 if it has the tag. Null if no event has it, undefined if the block can't tell. */
function tagIndexesIn(key: string, read: ReadColumn): Uint32Array | null | undefined {
  const column = read(columnName.tag(key));
  if (column !== undefined) return indexesIn(column);
  return hasAllTags(read(columnName.list)) ? null : undefined;
}
