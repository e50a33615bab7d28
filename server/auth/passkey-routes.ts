import { recordAudit } from "../audit/audit-log.ts";
import { problem } from "../core/problems.ts";
import type { Routes } from "../http/routes.ts";
import { AccountResponse, PasskeyChange } from "../schemas/account.ts";
import { Done } from "../schemas/done.ts";
import type { Store } from "../storage/store.ts";
import { accountResponse } from "./account-response.ts";
import { type Auth, requireSession } from "./auth.ts";
import { raiseCredentialEpoch } from "./credential-epoch.ts";

/** Renames and removes passkeys. Adding one is better-auth's (`auth-routes.ts`). */
export function addPasskeyRoutes(
  routes: Routes,
  { store: { control }, auth }: { store: Store; auth: Auth },
): void {
  routes.add(
    {
      method: "patch",
      path: "/api/account/passkeys/{id}",
      by: "account",
      tag: "Account",
      summary: "Rename a passkey",
      body: PasskeyChange,
      response: AccountResponse,
      problems: [404],
    },
    async ({ account, body: { name }, parameter }) => {
      const { numUpdatedRows } = await control
        .updateTable("passkeys")
        .set({ name })
        .where("userId", "=", account.id)
        .where("id", "=", parameter("id"))
        .executeTakeFirst();
      if (numUpdatedRows === 0n) throw unknownPasskey();
      return accountResponse(control, account.id);
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/account/passkeys/{id}",
      by: "account",
      tag: "Account",
      summary: "Remove a passkey",
      response: Done,
      problems: [404],
    },
    async ({ account, actor, request, parameter }) => {
      const { id: sessionId, epoch } = await requireSession(auth, request);
      await control.transaction().execute(async (transaction) => {
        const passkey = await transaction
          .deleteFrom("passkeys")
          .where("userId", "=", account.id)
          .where("id", "=", parameter("id"))
          .returning("name")
          .executeTakeFirst();
        if (!passkey) throw unknownPasskey();
        await raiseCredentialEpoch(transaction, {
          accountId: account.id,
          change: "passkey removed",
          epoch,
          sessionId,
        });
        const detail = { name: passkey.name };
        await recordAudit(transaction, actor, { action: "passkey.removed", target: account.email, detail });
      });
    },
  );
}

function unknownPasskey() {
  return problem("passkey-unknown", { detail: "You have no passkey with this ID." });
}
