import type { Kysely, Selectable } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { readStoredContent } from "./notification-message.ts";

export type Delivery = Selectable<ControlTables["deliveries"]>;

/**
 * Where a delivery is sent, as of now: since it was stored, a member may have left, or a destination may have been turned
 * off or changed accounts. `role`, `address` and `settings` are null if it can't be sent there any more.
 */
export type Target = {
  slug: string;
  name: string;
  role: string | null;
  address: string | null;
  secret: string | null;
  settings: string | null;
  ruleName: string | null;
  urgent: number | null;
  unsubscribedAt: number | null;
  /** Of the account. */
  emailVerified: number | null;
};

/** Finds the target of each delivery, by the delivery's id. A delivery that was removed has none. */
export async function findTargets(
  control: Kysely<ControlTables>,
  deliveries: readonly Delivery[],
): Promise<Map<number, Target>> {
  const rows = await control
    .selectFrom("deliveries")
    .innerJoin("projects", "projects.id", "deliveries.projectId")
    .leftJoin("members", (join) =>
      join
        .onRef("members.projectId", "=", "deliveries.projectId")
        .onRef("members.accountId", "=", "deliveries.accountId"),
    )
    .leftJoin("accounts", "accounts.id", "deliveries.accountId")
    .leftJoin("destinations", (join) =>
      join
        .onRef("destinations.id", "=", "deliveries.destinationId")
        .onRef("destinations.accountId", "=", "deliveries.accountId"),
    )
    .leftJoin("projectDestinations", (join) =>
      join
        .onRef("projectDestinations.id", "=", "deliveries.destinationId")
        .onRef("projectDestinations.projectId", "=", "deliveries.projectId")
        .on("projectDestinations.enabled", "=", 1),
    )
    .leftJoin("rules", "rules.id", "deliveries.ruleId")
    .leftJoin("emailUnsubscriptions", (join) =>
      join
        .onRef("emailUnsubscriptions.projectId", "=", "deliveries.projectId")
        .onRef("emailUnsubscriptions.accountId", "=", "deliveries.accountId"),
    )
    .select([
      "deliveries.id",
      "slug",
      "projects.name",
      "members.role",
      "address",
      "secret",
      "destinations.enabled",
      "projectDestinations.settings",
      "rules.name as ruleName",
      "rules.urgent",
      "emailUnsubscriptions.createdAt as unsubscribedAt",
      "accounts.emailVerified",
    ])
    .where(
      "deliveries.id",
      "in",
      deliveries.map(({ id }) => id),
    )
    .execute();
  const notices = new Set(
    deliveries.flatMap((delivery) =>
      readStoredContent(delivery.notification)?.type === "server-notice" ? [delivery.id] : [],
    ),
  );
  // What the server's owner must know is sent also where notifications are off.
  return new Map(
    rows.map(({ enabled, ...row }) => [
      row.id,
      enabled === 1 || notices.has(row.id) ? row : { ...row, address: null },
    ]),
  );
}
