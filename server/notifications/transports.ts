import { createECDH } from "node:crypto";
import type { Kysely } from "kysely";
import type { Config } from "../config.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { destinationPurpose } from "../storage/secret-key.ts";
import { getOrCreateSecret } from "../storage/settings.ts";
import type { Mailer } from "./email.ts";
import type { VapidKeys } from "./push.ts";
import type { NotificationMessage, Send, Transports } from "./transport.ts";

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
  const urlOf = ({ project, event }: NotificationMessage) =>
    project ? `/p/${project.slug}/events/${event.id}` : "/settings";

  const browser: Send = async (notification, timeoutMs) => {
    const { event, address, secret } = notification;
    const message = {
      title: titleOf(notification),
      body: bodyOf(notification),
      url: urlOf(notification),
      tag: event.id,
    };
    const keysOfBrowser = JSON.parse(secrets.open(secret!, destinationPurpose(address)));
    const subscription = { endpoint: address, keys: keysOfBrowser };
    const { sendPush } = await import("./push.ts");
    return sendPush(subscription, message, { ...keys, subject }, policy, timeoutMs);
  };

  const emails = config.smtpUrl === null ? null : await import("./email.ts");
  const mailer = emails?.createMailer(config.smtpUrl!, config.emailFrom) ?? null;
  const email: Send | undefined =
    emails && mailer
      ? async (notification, timeoutMs) => {
          const project = notification.project ?? { name: "Tidings" };
          const message = emails.renderEventEmail(
            notification.event,
            project,
            baseUrl + urlOf(notification),
            `${baseUrl}/settings`,
          );
          return mailer.send({ ...message, to: notification.address }, timeoutMs);
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

function titleOf({ event }: NotificationMessage): string {
  // Icons that are file names are not shown.
  const icon = event.icon && /\p{Extended_Pictographic}/u.test(event.icon) ? `${event.icon} ` : "";
  return icon + event.name;
}

function bodyOf({ event, project }: NotificationMessage): string {
  const about = [
    event.channelId,
    event.userId,
    ...Object.entries(event.tags).map(([key, value]) => `${key}: ${value}`),
  ];
  const lines = [about.filter((part) => part !== "").join(" · "), event.description ?? ""];
  return [...lines, project?.name ?? ""].filter((line) => line !== "").join("\n");
}
