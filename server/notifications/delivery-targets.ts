import type { Kysely, Selectable } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { defaultSettings } from "./apply-preferences.ts";
import type { DestinationRow } from "./destinations.ts";
import { readNotification } from "./notification-message.ts";

export type Delivery = Selectable<ControlTables["deliveries"]>;

/**
 * Where a delivery is sent, as of now: since it was stored, a member may have left, or a destination may have been
 * turned off or changed accounts.
 */
export type Target = {
  project: { slug: string; name: string };
  rule: { name: string; urgent: boolean } | null;
  /** Of the account. */
  timeZone: string;
  /** Why it can't be sent there any more, or the destination. */
  destination: { refusal: string } | Pick<DestinationRow, "id" | "kind" | "address" | "settings">;
};

/** Finds the target of each delivery, by the delivery's id. A delivery that was removed has none. */
export async function findTargets(
  control: Kysely<ControlTables>,
  deliveries: readonly Delivery[],
): Promise<Map<number, Target>> {
  const rows = await selectTargets(control)
    .where(
      "deliveries.id",
      "in",
      deliveries.map(({ id }) => id),
    )
    .execute();
  return new Map(rows.map((row) => [row.id, targetOf(row)]));
}

function selectTargets(control: Kysely<ControlTables>) {
  return control
    .selectFrom("deliveries")
    .innerJoin("projects", "projects.id", "deliveries.projectId")
    .leftJoin("members", (join) =>
      join
        .onRef("members.projectId", "=", "deliveries.projectId")
        .onRef("members.accountId", "=", "deliveries.accountId"),
    )
    .leftJoin("accounts", "accounts.id", "deliveries.accountId")
    .leftJoin("notificationSettings", "notificationSettings.accountId", "deliveries.accountId")
    .leftJoin("destinations", (join) =>
      join
        .onRef("destinations.id", "=", "deliveries.destinationId")
        .on((eb) =>
          eb.or([
            eb("destinations.accountId", "=", eb.ref("deliveries.accountId")),
            eb("destinations.projectId", "=", eb.ref("deliveries.projectId")),
          ]),
        ),
    )
    .leftJoin("rules", "rules.id", "deliveries.ruleId")
    .leftJoin("emailUnsubscriptions", (join) =>
      join
        .onRef("emailUnsubscriptions.projectId", "=", "deliveries.projectId")
        .onRef("emailUnsubscriptions.accountId", "=", "deliveries.accountId"),
    )
    .select([
      "deliveries.id",
      "deliveries.accountId",
      "deliveries.notification",
      "slug",
      "projects.name",
      "members.role",
      "destinations.id as destinationId",
      "destinations.kind",
      "address",
      "settings",
      "destinations.enabled",
      "rules.name as ruleName",
      "rules.urgent",
      "emailUnsubscriptions.createdAt as unsubscribedAt",
      "accounts.emailVerified",
      "notificationSettings.timeZone",
    ]);
}

type Row = Awaited<ReturnType<ReturnType<typeof selectTargets>["execute"]>>[number];

function targetOf(row: Row): Target {
  const { slug, name, ruleName, urgent, timeZone, destinationId, kind, address, settings } = row;
  const refusal = refusalOf(row);
  return {
    project: { slug, name },
    rule: ruleName === null ? null : { name: ruleName, urgent: urgent === 1 },
    timeZone: timeZone ?? defaultSettings.timeZone,
    destination: refusal === null ? { id: destinationId!, kind: kind!, address, settings } : { refusal },
  };
}

/** Why a delivery can't be sent; null if it can. */
function refusalOf(row: Row): string | null {
  const { accountId, role, kind, enabled, unsubscribedAt, emailVerified } = row;
  if (accountId === null) return enabled === 1 ? null : "The destination was deleted or turned off.";
  if (role === null) return "The account is no longer a member of the project.";
  // Notices to the server's owner, and reports that a member wants, are sent also where notifications are off.
  const { type } = readNotification(row.notification);
  const isOn = enabled === 1 || type === "server-notice" || type === "report";
  if (kind === null || !isOn) return "The destination was removed.";
  if (kind !== "email") return null;
  if (unsubscribedAt !== null) return "The account unsubscribed before this was sent.";
  return emailVerified === 1 ? null : "Nobody has confirmed the account's email address.";
}
