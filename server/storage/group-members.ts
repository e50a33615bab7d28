import type { Kysely, Transaction } from "kysely";
import type { ControlTables } from "./control-tables.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** The members of groups of a type, each with its row in `personIds` if it is joined to another ID. */
export function groupMembers(control: Control, projectId: number, type: string) {
  return control
    .selectFrom("userGroupMembers as members")
    .leftJoin("personIds", (join) =>
      join
        .onRef("personIds.projectId", "=", "members.projectId")
        .onRef("personIds.userId", "=", "members.userId"),
    )
    .where("members.projectId", "=", projectId)
    .where("members.type", "=", type);
}
