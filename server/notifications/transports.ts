import { createECDH } from "node:crypto";
import type { Kysely } from "kysely";
import type { Config } from "../config/config.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { destinationPurpose } from "../storage/secret-key.ts";
import { getOrCreateSecret } from "../storage/settings.ts";
import type { Mailer } from "./email.ts";
import { titleOf } from "./kinds/layout.ts";
import type { AccountMessage } from "./message.ts";
import type { VapidKeys } from "./push.ts";
import type { Send, Transports } from "./transport.ts";

type Outgoing = {
  transports: Transports;
  /** For emails that aren't notifications; null if email isn't configured. */
  mailer: Mailer | null;
  vapidPublicKey: string;
  close: () => Promise<void>;
};

/**
 * The transports for notifications outside the dashboard: always Web Push, and email if it is configured. Their packages
 * are loaded on first use, because they need memory.
 */
export async function createTransports(
  config: Config,
  control: Kysely<ControlTables>,
  secrets: SecretBox,
  baseUrl: string,
): Promise<Outgoing> {
  const keys = JSON.parse(
    await getOrCreateSecret(control, secrets, "vapid", () => JSON.stringify(generateVapid())),
  );
  // Push services require a contact, and some reject localhost (RFC 8292, section 2.1).
  const subject = baseUrl.startsWith("https:") ? baseUrl : "mailto:tidings@example.com";
  const policy = { allowPrivate: config.allowPrivateAddresses };

  const browser: Send = async ({ message, address, secret }, timeoutMs) => {
    const push = {
      title: titleOf(message),
      body: bodyOf(message),
      url: message.url.slice(baseUrl.length),
      tag: message.type === "event" ? message.event!.id : message.id,
      ...(message.type === "event" && {
        mute: {
          project: message.project.slug,
          channel: message.event!.channelId,
          name: message.event!.name,
        },
      }),
    };
    const keysOfBrowser = JSON.parse(secrets.open(secret!, destinationPurpose(address)));
    const subscription = { endpoint: address, keys: keysOfBrowser };
    const { sendPush } = await import("./push.ts");
    return sendPush(subscription, push, { ...keys, subject }, policy, timeoutMs);
  };

  const emails = config.smtpUrl === null ? null : await import("./email.ts");
  const mailer = emails?.createMailer(config.smtpUrl!, config.emailFrom) ?? null;
  const email: Send | undefined =
    emails && mailer
      ? ({ message, address, unsubscribeUrl, timeZone }, timeoutMs) => {
          const reader = {
            baseUrl,
            ...(unsubscribeUrl && { unsubscribeUrl }),
            ...(timeZone !== undefined && { timeZone }),
          };
          return mailer.send({ ...emails.renderEmail(message, reader), to: address }, timeoutMs);
        }
      : undefined;

  return {
    transports: { browser, email },
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

function bodyOf({ type, event, text, project }: AccountMessage): string {
  const facts =
    type === "event" || type === "test"
      ? [
          event!.channelId,
          event!.userId,
          ...Object.entries(event!.tags).map(([key, value]) => `${key}: ${value}`),
        ]
      : [];
  const lines = [facts.filter((part) => part !== "").join(" · "), text ?? "", project.name];
  return lines.filter((line) => line !== "").join("\n");
}
