import type { Kysely } from "kysely";
import type { Config } from "../config.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { destinationPurpose } from "../storage/secret-key.ts";
import { getOrCreateSecret } from "../storage/settings.ts";
import { createMailer, type Mailer, renderEventEmail } from "./email.ts";
import { generateVapid, sendPush } from "./push.ts";
import type { NotificationMessage, Send } from "./send.ts";

type Transports = {
  transports: { browser: Send; email?: Send | undefined };
  /** For emails that aren't notifications; null if email isn't configured. */
  mailer: Mailer | null;
  vapidPublicKey: string;
  close: () => Promise<void>;
};

/** The transports for notifications outside the dashboard: always Web Push, and email if it is configured. */
export async function createTransports(
  config: Config,
  control: Kysely<ControlTables>,
  secrets: SecretBox,
  baseUrl: string,
): Promise<Transports> {
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
    return sendPush(subscription, message, { ...keys, subject }, policy, timeoutMs);
  };

  const mailer = config.smtpUrl === null ? null : createMailer(config.smtpUrl, config.emailFrom);
  const email: Send | undefined = mailer
    ? async (notification, timeoutMs) => {
        const project = notification.project ?? { name: "Tidings" };
        const message = renderEventEmail(
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
