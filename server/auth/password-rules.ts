import { problem } from "../core/problems.ts";
import { leakedPasswordsFile } from "../process/program-files.ts";

/** Fewer different characters than this are a pattern. */
const differentCharactersMin = 4;

/**
 * Checks that a new password isn't easy to guess: a common one, perhaps with digits or signs around it, the owner's
 * email address or name, or ours. Lengths (`limits.passwordCharactersMin`) are checked with the request. Throws `password-common`.
 *
 * @param field - the request's field that has the password
 */
export async function checkNewPassword(
  password: string,
  account: { email?: string | undefined; name?: string | undefined },
  field: "password" | "newPassword" = "password",
): Promise<void> {
  const folded = password.toLowerCase();
  const email = account.email?.toLowerCase();
  const own = [email, email?.split("@")[0], account.name?.toLowerCase(), "tidings"];
  const core = folded.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "");
  const isEasy =
    new Set(folded).size < differentCharactersMin ||
    [folded, core].some((text) => own.includes(text)) ||
    (await isCommon([folded, core]));
  if (!isEasy) return;
  const detail =
    "This password is easy to guess: it is a common one, a pattern, or your own name or address. Choose another one.";
  throw problem("password-common", { detail, errors: [{ pointer: `/${field}`, detail }] });
}

/** Reads the list each time, because passwords change rarely, and memory is needed all the time. */
async function isCommon(passwords: string[]): Promise<boolean> {
  const texts = await Bun.file(leakedPasswordsFile).text();
  return passwords.some((password) => texts.includes(JSON.stringify(password)));
}
