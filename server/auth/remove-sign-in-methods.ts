import type { Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/** From when on something was added: after an epoch, or after a time (ISO 8601). */
export type Since = { epoch: number; time: string };

/**
 * Removes what signs in to an account besides the password, or weakens it: passkeys, the second factor, connections to
 * OpenID Connect. All of it, or what was added since.
 */
export async function removeSignInMethods(
  transaction: Transaction<ControlTables>,
  { id, email }: { id: string; email: string },
  since: Since | null,
  actor: Actor,
): Promise<void> {
  const passkeys = await transaction
    .deleteFrom("passkeys")
    .where("userId", "=", id)
    .$if(since !== null, (query) =>
      query.where((eb) =>
        eb.or([eb("credentialEpoch", ">", since!.epoch), eb("createdAt", ">", since!.time)]),
      ),
    )
    .returning("name")
    .execute();
  for (const { name } of passkeys)
    await recordAudit(transaction, actor, { action: "passkey.removed", target: email, detail: { name } });

  const providers = await transaction
    .deleteFrom("credentials")
    .where("userId", "=", id)
    .where("providerId", "!=", "credential")
    .$if(since !== null, (query) =>
      query.where((eb) =>
        eb.or([eb("credentialEpoch", ">", since!.epoch), eb("createdAt", ">", since!.time)]),
      ),
    )
    .returning("providerId")
    .execute();
  for (const { providerId } of providers) {
    const detail = { disconnected: providerId };
    await recordAudit(transaction, actor, { action: "account.changed", target: email, detail });
  }

  const secondFactor = await transaction
    .deleteFrom("twoFactors")
    .where("userId", "=", id)
    .$if(since !== null, (query) =>
      query.where((eb) =>
        eb.or([eb("credentialEpoch", ">", since!.epoch), eb("enabledAt", ">", since!.time)]),
      ),
    )
    .returning("id")
    .execute();
  if (secondFactor.length === 0) return;
  const { numUpdatedRows } = await transaction
    .updateTable("accounts")
    .set({ twoFactorEnabled: 0 })
    .where("id", "=", id)
    .where("twoFactorEnabled", "=", 1)
    .executeTakeFirst();
  if (numUpdatedRows > 0n)
    await recordAudit(transaction, actor, { action: "two-factor.disabled", target: email });
}
