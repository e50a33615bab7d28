import { createECDH } from "node:crypto";
import type { Kysely } from "kysely";
import type { Config } from "../config/config.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { getOrCreateSecret } from "../storage/settings.ts";
import { browserKind } from "./kinds/browser.ts";
import { emailKind } from "./kinds/email.ts";
import { destinationKinds } from "./kinds/index.ts";
import type { VapidKeys } from "./push.ts";

/** Opens all kinds of destinations: those of accounts take keys and a mail server. */
export async function openKinds(
  config: Config,
  control: Kysely<ControlTables>,
  secrets: SecretBox,
  baseUrl: string,
) {
  const keys: VapidKeys = JSON.parse(
    await getOrCreateSecret(control, secrets, "vapid", () => JSON.stringify(generateVapid())),
  );
  // Push services require a contact, and some reject localhost (RFC 8292, section 2.1).
  const subject = baseUrl.startsWith("https:") ? baseUrl : "mailto:tidings@example.com";
  const mailer =
    config.smtpUrl === null
      ? null
      : (await import("./email.ts")).createMailer(config.smtpUrl, config.emailFrom);
  return {
    kinds: destinationKinds([
      browserKind({ ...keys, subject }, baseUrl),
      ...(mailer ? [emailKind(mailer, baseUrl)] : []),
    ]),
    /** For emails that aren't notifications; null if email isn't configured. */
    mailer,
    vapidPublicKey: keys.publicKey,
    close: async () => mailer?.close(),
  };
}

/** Generates the key pair that identifies an installation. It never changes, because subscriptions are bound to it. */
export function generateVapid(): VapidKeys {
  const curve = createECDH("prime256v1");
  curve.generateKeys();
  // A number that begins with a zero byte is shorter.
  const privateKey = Buffer.concat([Buffer.alloc(32), curve.getPrivateKey()]).subarray(-32);
  return { publicKey: curve.getPublicKey("base64url"), privateKey: privateKey.toString("base64url") };
}
