import type { Change } from "../audit/changes.ts";
import type { Merge } from "../schemas/person.ts";
import { idsOf } from "../storage/people.ts";
import { addToJoined, beginPeopleChange } from "../users/people-lock.ts";
import { unlockProfiles } from "../users/profile-lock.ts";
import { join, lockPeople } from "./join-ids.ts";

/**
 * Merges the person with an ID into another one. Throws `user-known` if both are known and it isn't forced,
 * `id-not-allowed` and `limit-reached`.
 */
export async function mergeUsers(
  change: Change,
  userId: string,
  { userId: otherId, force = false }: Merge,
): Promise<void> {
  const { transaction, projectId, actor, record } = change;
  const version = await beginPeopleChange(transaction, projectId);
  const persons = await lockPeople(transaction, projectId, [userId, otherId]);
  const joining = { id: otherId, userId, by: "merge", name: actor.name, identifies: false, force } as const;
  const result = await join(transaction, projectId, joining, version);
  if (typeof result !== "boolean") throw result;
  await unlockProfiles(transaction, projectId, persons);
  if (!result) return;
  await addToJoined(transaction, projectId, 1);
  const { length } = await idsOf(transaction, projectId, userId);
  // IDs would outlive an erasure here.
  await record({ action: "user.merged", detail: { ids: length, ...(force && { force }) } });
}
