import type { Transaction } from "kysely";
import type { UserProperties } from "../schemas/user-rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";

type Control = Transaction<ControlTables>;

/** What is kept of a person, besides events: properties, and when they were first known. */
export type StoredProfile = { properties: UserProperties; identifiedAt: number | null };
const noProfile: StoredProfile = { properties: {}, identifiedAt: null };

/** The time of a row that was only made to be locked. */
const lockedOnlyAt = 0;

/**
 * Keeps others from changing the profiles of these people until the transaction ends, also of those who have none yet.
 * Whoever changes one afterwards must look again whose it is: `mergeProperties`. Call `unlockProfiles` at the end.
 */
export async function lockProfiles(
  transaction: Control,
  projectId: number,
  persons: readonly string[],
): Promise<void> {
  // In order of the IDs, so that two transactions never wait for each other's.
  const rows = [...new Set(persons)]
    .toSorted()
    .map((userId) => ({ projectId, userId, properties: "{}", updatedAt: lockedOnlyAt }));
  await transaction
    .insertInto("users")
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(["projectId", "userId"])
        .doUpdateSet((eb) => ({ updatedAt: eb.ref("users.updatedAt") })),
    )
    .execute();
}

/** Deletes those of the rows that were only made to be locked. */
export async function unlockProfiles(
  transaction: Control,
  projectId: number,
  persons: readonly string[],
): Promise<void> {
  await transaction
    .deleteFrom("users")
    .where("projectId", "=", projectId)
    .where("userId", "in", persons)
    .where("updatedAt", "=", lockedOnlyAt)
    .execute();
}

/** The profiles of people, by their main IDs; an empty one of those who have none. */
export async function readLocked(
  transaction: Control,
  projectId: number,
  persons: readonly string[],
): Promise<(person: string) => StoredProfile> {
  const rows = await transaction
    .selectFrom("users")
    .select(["userId", "properties", "identifiedAt"])
    .where("projectId", "=", projectId)
    .where("userId", "in", persons)
    .execute();
  const profiles = new Map(
    rows.map(({ userId, properties, identifiedAt }) => [
      userId,
      { properties: JSON.parse(properties) as UserProperties, identifiedAt },
    ]),
  );
  return (person) => profiles.get(person) ?? noProfile;
}

/** Stores a profile in place of what is there. */
export async function storeProfile(
  transaction: Control,
  projectId: number,
  person: string,
  { properties, identifiedAt }: StoredProfile,
): Promise<void> {
  const row = { properties: JSON.stringify(properties), updatedAt: Date.now(), identifiedAt };
  await transaction
    .insertInto("users")
    .values({ projectId, userId: person, ...row })
    .onConflict((conflict) => conflict.columns(["projectId", "userId"]).doUpdateSet(row))
    .execute();
}
