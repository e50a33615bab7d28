import type { Kysely } from "kysely";
import type { SignUpPolicy } from "../config/values.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { isReserved } from "./account-links.ts";
import { hasAccounts } from "./create-account.ts";

/**
 * Whether an account may be created for an address that is known to be its owner's. The first account is created with
 * the setup link only.
 */
export async function mayCreateAccount(
  control: Kysely<ControlTables>,
  policy: SignUpPolicy,
  email: string,
): Promise<boolean> {
  if (!(await hasAccounts(control))) return false;
  if (await isReserved(control, email.toLowerCase(), null)) return false;
  if (policy === "open") return true;
  const invitation = await control
    .selectFrom("invitations")
    .select("id")
    .where((eb) => eb(eb.fn("lower", ["email"]), "=", email.toLowerCase()))
    .where("expiresAt", ">", Date.now())
    .limit(1)
    .executeTakeFirst();
  return invitation !== undefined;
}
