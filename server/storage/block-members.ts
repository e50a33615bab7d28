import { userWords } from "../event/user-hash.ts";
import { hasHash, type UserSet } from "../event/user-set.ts";
import { columnName, unpackUsers } from "./analysis/columns.ts";
import type { Bits } from "./bits.ts";

/** The column of a block that `ordinalsOfMembers` reads. */
export const membersColumn = columnName.user;

/**
 * The ordinals of a block's events of users in a set.
 *
 * @param column - the stored column of users; undefined if the block has none, which can't tell then
 */
export function ordinalsOfMembers(
  set: UserSet,
  events: number,
  column: Uint8Array | undefined,
): Bits | null | undefined {
  if (column === undefined) return undefined;
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
  return bits;
}
