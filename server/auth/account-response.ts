import type { Kysely } from "kysely";
import { versionOf } from "../core/edit-version.ts";
import type { AccountResponse } from "../schemas/account.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { passwordHashOf } from "./reauthenticate.ts";

/** An account, as its owner sees it. */
export async function accountResponse(
  control: Kysely<ControlTables>,
  accountId: string,
): Promise<AccountResponse> {
  const { twoFactorEnabled, ...account } = await control
    .selectFrom("accounts")
    .select(["id", "name", "email", "twoFactorEnabled", "createdAt"])
    .where("id", "=", accountId)
    .executeTakeFirstOrThrow();
  const passkeys = await control
    .selectFrom("passkeys")
    .select(["id", "name", "createdAt"])
    .where("userId", "=", accountId)
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  return {
    ok: true,
    account: {
      ...account,
      passkeys: passkeys.map(({ name, ...passkey }) => ({ ...passkey, name: name ?? "Passkey" })),
      hasPassword: (await passwordHashOf(control, accountId)) !== null,
      twoFactorEnabled: twoFactorEnabled === 1,
      version: versionOf(account.name),
    },
  };
}
