import type { Transaction } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { DeliveryDead, DestinationOff } from "./notification-message.ts";

/** Makes the deliveries that tell a project's owners, everywhere where they have turned on notifications. */
export async function tellOwners(
  transaction: Transaction<ControlTables>,
  projectId: number,
  notification: DestinationOff | DeliveryDead,
  nowMs: number,
): Promise<void> {
  const places = await transaction
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
    .where("role", "=", "owner")
    .where("enabled", "=", 1)
    .execute();
  const deliveries = places.map(({ accountId, id: destinationId, kind, label }) => ({
    projectId,
    accountId,
    destinationId,
    kind,
    label,
    groupKey: kind === "dashboard" ? `destination ${notification.destination.id}` : null,
    notification: JSON.stringify(notification),
    state: kind === "dashboard" ? ("delivered" as const) : ("waiting" as const),
    createdAt: nowMs,
    nextAttemptAt: kind === "dashboard" ? null : nowMs,
    deliveredAt: kind === "dashboard" ? nowMs : null,
  }));
  if (deliveries.length > 0) await transaction.insertInto("deliveries").values(deliveries).execute();
}
