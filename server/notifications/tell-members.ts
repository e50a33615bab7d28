import type { Transaction } from "kysely";
import type { Role } from "../core/permissions.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { deliveryTo, type Recipient } from "./new-delivery.ts";
import type { MemberNotice } from "./notification-message.ts";

/** Makes the deliveries that tell a project's owners, everywhere where they have turned on notifications. */
export async function tellOwners(
  transaction: Transaction<ControlTables>,
  projectId: number,
  notice: MemberNotice,
): Promise<void> {
  await tellMembers(transaction, projectId, notice, { "members.role": "owner" });
}

/** The same for members with a role, or for one. */
export async function tellMembers(
  transaction: Transaction<ControlTables>,
  projectId: number,
  notice: MemberNotice,
  told: { "members.role": Role } | { "members.accountId": string },
): Promise<void> {
  const recipients = await transaction
    .selectFrom("members")
    .innerJoin("destinations", "destinations.accountId", "members.accountId")
    .leftJoin("emailUnsubscriptions", (join) =>
      join
        .onRef("emailUnsubscriptions.projectId", "=", "members.projectId")
        .onRef("emailUnsubscriptions.accountId", "=", "members.accountId"),
    )
    .select(["members.accountId", "destinations.id", "kind", "name as label"])
    .where("members.projectId", "=", projectId)
    .where((eb) => eb.or([eb("kind", "!=", "email"), eb("emailUnsubscriptions.projectId", "is", null)]))
    .where((eb) => eb.and(told))
    .where("enabled", "=", 1)
    .execute();
  await deliverNotice(transaction, projectId, recipients, notice);
}

/** Makes the deliveries of a notice. Inboxes show notices of the same destination, schedule or rule as one. */
export async function deliverNotice(
  transaction: Transaction<ControlTables>,
  projectId: number,
  recipients: readonly Recipient[],
  notice: MemberNotice,
): Promise<void> {
  if (recipients.length === 0) return;
  const content = { projectId, groupKey: groupKeyOf(notice), notification: JSON.stringify(notice) };
  await transaction
    .insertInto("deliveries")
    .values(recipients.map((recipient) => deliveryTo(recipient, content, notice.atMs)))
    .execute();
}

function groupKeyOf(notice: MemberNotice): string {
  switch (notice.type) {
    case "server-notice":
      return `server ${notice.atMs}`;
    case "on-call":
      return `on-call ${notice.schedule.id}`;
    case "rule-failing":
      return `rule ${notice.rule.id}`;
    default:
      return `destination ${notice.destination.id}`;
  }
}
