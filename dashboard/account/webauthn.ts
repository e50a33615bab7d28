import { api } from "../api.ts";

/** Passkeys in the browser (https://www.w3.org/TR/webauthn-3/). */

/** Why passkeys don't work here, as a sentence; null if they do. */
export function passkeyObstacle(host: string): string | null {
  if (!isSecureContext) return "Passkeys need HTTPS (or localhost).";
  if (!("PublicKeyCredential" in window && "parseRequestOptionsFromJSON" in PublicKeyCredential))
    return "This browser doesn't support passkeys.";
  if (location.hostname !== host) return `Passkeys work only if you open Tidings at ${host}.`;
  return null;
}

/** Creates a passkey on this device and adds it to the account. */
export async function addPasskey(): Promise<void> {
  const options = await api<PublicKeyCredentialCreationOptionsJSON>(
    "/api/auth/passkey/generate-register-options",
  );
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await ask(() => navigator.credentials.create({ publicKey }));
  await api("/api/auth/passkey/verify-registration", { method: "POST", body: { response: credential } });
}

export async function signInWithPasskey(): Promise<void> {
  const options = await api<PublicKeyCredentialRequestOptionsJSON>(
    "/api/auth/passkey/generate-authenticate-options",
  );
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await ask(() => navigator.credentials.get({ publicKey }));
  await api("/api/auth/passkey/verify-authentication", { method: "POST", body: { response: credential } });
}

/** The browser doesn't say whether somebody cancelled or has no passkey, and its own words are technical. */
async function ask(dialog: () => Promise<Credential | null>): Promise<object> {
  try {
    return ((await dialog()) as PublicKeyCredential).toJSON();
  } catch (error) {
    const name = error instanceof Error ? error.name : "";
    throw new Error(
      name === "InvalidStateError"
        ? "This device already has a passkey for your account."
        : "No passkey was used. Try again, or use your password.",
      { cause: error },
    );
  }
}
