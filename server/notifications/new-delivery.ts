import type { Insertable } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";

type NewDelivery = Insertable<ControlTables["deliveries"]>;

/** A destination that gets a notification, and whose it is. */
export type Recipient = { accountId: string | null; id: string; kind: string; label: string };

/** A new delivery to a recipient. The dashboard has it at once; to others it is sent. */
export function deliveryTo<Content extends Partial<NewDelivery>>(
  { accountId, id: destinationId, kind, label }: Recipient,
  content: Content,
  nowMs: number,
) {
  const isShown = kind === "dashboard";
  return {
    ...content,
    groupKey: isShown ? (content.groupKey ?? null) : null,
    accountId,
    destinationId,
    kind,
    label,
    state: isShown ? ("delivered" as const) : ("waiting" as const),
    createdAt: nowMs,
    nextAttemptAt: isShown ? null : nowMs,
    deliveredAt: isShown ? nowMs : null,
  };
}
