import { type Kysely, type Selectable, sql } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { destinationPurpose } from "../storage/secret-key.ts";
import type { DestinationKinds } from "./kinds/index.ts";
import type { Context, Outcome } from "./kinds/kind.ts";
import type { Message } from "./message.ts";

export type DestinationRow = Selectable<ControlTables["destinations"]>;
export type Settings = Record<string, unknown>;
type Sealed = Pick<DestinationRow, "id" | "address" | "settings">;

/** The settings with which a kind sends to a destination. */
export function openSettings(destination: Sealed, secrets: SecretBox): Settings {
  const { address, settings } = destination;
  const opened = settings === null ? {} : JSON.parse(secrets.open(settings, destinationPurpose(destination)));
  return address === null ? opened : { address, ...opened };
}

export function sealSettings(
  destination: Pick<Sealed, "id" | "address">,
  settings: Settings,
  secrets: SecretBox,
): string {
  return secrets.seal(JSON.stringify(settings), destinationPurpose(destination));
}

/** What sending takes besides the message. */
export type Sending = { kinds: DestinationKinds; secrets: SecretBox };

/** Sends a message once. Throws only for errors of the program. */
export async function sendTo(
  { kinds, secrets }: Sending,
  destination: Sealed & Pick<DestinationRow, "kind">,
  message: Message,
  context: Context,
): Promise<Outcome> {
  const { kind } = destination;
  const found = kinds.get(kind);
  if (!found) return { kind: "failed", detail: `Notifications by ${kind} are not configured.` };
  return found.send(message, openSettings(destination, secrets), context);
}

/** Deliveries cancelled at a time. */
const stepRows = 500;

/**
 * Cancels what waits for a destination that is gone or turned off, or what one project sends it, in small steps. It
 * would not be sent anyway, because the delivery worker checks the destination first.
 */
export async function cancelDeliveries(
  control: Kysely<ControlTables>,
  destinationId: string,
  detail: string,
  projectId?: number,
): Promise<void> {
  // Later deliveries, for example after it is turned on again, needn't wait.
  if (projectId === undefined)
    await control.deleteFrom("deliveryQueues").where("destinationId", "=", destinationId).execute();
  // Literals, so that the planner can use the indexes of what waits.
  for (const isPending of [isWaiting, isCollected]) {
    for (;;) {
      const { numUpdatedRows } = await control
        .updateTable("deliveries")
        .set({ state: "cancelled", detail, nextAttemptAt: null })
        .where("id", "in", (eb) =>
          eb
            .selectFrom("deliveries")
            .select("id")
            .where(isPending)
            .where("destinationId", "=", destinationId)
            .$if(projectId !== undefined, (query) => query.where("projectId", "=", projectId!))
            .limit(stepRows),
        )
        .where(isPending)
        .executeTakeFirst();
      if (numUpdatedRows < stepRows) break;
    }
  }
}

const isWaiting = sql<boolean>`state = 'waiting'`;
/** And not part of a digest yet. */
export const isCollected = sql<boolean>`state = 'collected' AND next_attempt_at IS NOT NULL`;
