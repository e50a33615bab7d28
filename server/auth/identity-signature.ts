import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { type ProblemError, problem } from "../core/problems.ts";
import type { KeyAccess } from "../http/caller.ts";
import type { SecretBox } from "../storage/secret-box.ts";

const secretBytes = 32;

/** Begins with a prefix of its own, so that secret scanners and people recognize it. */
export function createIdentitySecret(): string {
  return `tdg_is_${randomBytes(secretBytes).toString("base64url")}`;
}

/** The purpose for which the secrets of a project's keys are sealed. A rotated key keeps its secret. */
export function identityPurpose(projectId: number): string {
  return `identity secret of project ${projectId}`;
}

/** HMAC-SHA256 (RFC 2104) of a user ID in UTF-8, in hexadecimal. */
function signatureOf(userId: string, identitySecret: string): string {
  return createHmac("sha256", identitySecret).update(userId).digest("hex");
}

/**
 * The problem `signature-invalid` if a key may not join an ID to a user: a publishable key needs a signature of the
 * user's ID, as anybody can read the key in a page. Null if it may.
 *
 * Invariant: with a publishable key, nothing is joined to a user without a signature of that user's ID, unless the key's
 * setting allows it. Checked by `server/people/signature.test.ts`.
 */
export function signatureProblem(
  key: Pick<KeyAccess, "kind" | "projectId" | "identify" | "identitySecret">,
  userId: string,
  signature: string | undefined,
  secrets: SecretBox,
): ProblemError | null {
  if (key.kind === "secret" || key.identify === "unsigned") return null;
  if (key.identitySecret === null)
    return problem("signature-invalid", {
      detail:
        'This publishable key has no secret for signatures, so it can\'t join IDs. Create one in the dashboard under "API keys", or call from your server with a secret key.',
    });
  if (signature === undefined)
    return problem("signature-invalid", {
      detail:
        'A publishable key needs a signature of the user ID. Compute the HMAC-SHA256 of the user ID with the key\'s secret for signatures on your server, and send it as "signature".',
    });
  const secret = secrets.open(key.identitySecret, identityPurpose(key.projectId));
  const expected = Buffer.from(signatureOf(userId, secret), "hex");
  const sent = Buffer.from(signature, "hex");
  if (sent.length === expected.length && timingSafeEqual(sent, expected)) return null;
  return problem("signature-invalid", {
    detail:
      "The signature doesn't fit the user ID. It is the HMAC-SHA256 of exactly this user ID in UTF-8, with the key's secret for signatures, in hexadecimal.",
  });
}
