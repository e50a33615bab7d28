import type { Kysely } from "kysely";
import type { UserProperties } from "../schemas/user-rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { joinedIdsOf } from "../storage/people.ts";

/** The IDs and properties of a person. */
export type Profile = { ids: string[]; isKnown: boolean; properties: UserProperties };

/** Reads what is known of people, by their main IDs. Returns it for an ID. */
export async function readProfiles(
  control: Kysely<ControlTables>,
  projectId: number,
  persons: readonly string[],
): Promise<(person: string) => Profile> {
  const [idsOfEach, rows] = await Promise.all([
    joinedIdsOf(control, projectId, persons),
    persons.length === 0
      ? []
      : control
          .selectFrom("users")
          .select(["userId", "properties", "identifiedAt"])
          .where("projectId", "=", projectId)
          .where("userId", "in", persons)
          .execute(),
  ]);
  const stored = new Map(rows.map((row) => [row.userId, row]));
  return (person) => {
    const row = stored.get(person);
    return {
      ids: idsOfEach.get(person)!,
      isKnown: row !== undefined && row.identifiedAt !== null,
      properties: row ? (JSON.parse(row.properties) as UserProperties) : {},
    };
  };
}
