import { getAuthenticatorName, passkey } from "@better-auth/passkey";
import { APIError } from "better-auth";

/**
 * better-auth's passkeys. A passkey replaces password and second factor, so it must check who uses it, by a PIN or a
 * fingerprint.
 */
export function passkeys(baseUrl: string) {
  const { hostname, origin } = new URL(baseUrl);
  return passkey({
    rpName: "Tidings",
    rpID: hostname,
    origin,
    schema: { passkey: { modelName: "passkeys" } },
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    registration: {
      afterVerification: async ({ verification }) => {
        const { userVerified, aaguid } = verification.registrationInfo!;
        if (!userVerified) throw notVerified();
        return { name: getAuthenticatorName(aaguid) ?? "Passkey" };
      },
    },
    authentication: {
      afterVerification: async ({ verification }) => {
        if (!verification.authenticationInfo.userVerified) throw notVerified();
      },
    },
  });
}

function notVerified(): APIError {
  return new APIError("UNAUTHORIZED", {
    message:
      "This passkey did not ask for a PIN, a fingerprint or a face. Set one up on the device and try again",
  });
}
