import type { Kysely } from "kysely";
import type { AlertLink, AlertLinks } from "../alerts/alert-links.ts";
import { followAlertLink } from "../alerts/follow-alert-link.ts";
import { type ProblemError, problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import { type AlertButton, alertButtons, isAlertButton } from "../notifications/alert-buttons.ts";
import { openSettings, type Settings } from "../notifications/destinations.ts";
import { shorten } from "../notifications/shorten.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";

export type ClickDeps = {
  control: Kysely<ControlTables>;
  secrets: SecretBox;
  alertLinks: AlertLinks;
  fanOut: { wake(): void };
};

/** A button that somebody clicked, and the settings of its destination. */
export type Click = { button: AlertButton; link: AlertLink; settings: Settings };

/**
 * Reads a click, before its signature is verified with the settings.
 *
 * Throws `body-malformed` if no such button exists, `alert-link-unknown` if its token is not valid, and
 * `interaction-signature-invalid` if the destination was deleted.
 */
export async function readClick(
  { control, secrets, alertLinks }: ClickDeps,
  kind: string,
  button: string,
  token: string,
): Promise<Click> {
  if (!isAlertButton(button)) throw problem("body-malformed", { detail: "There is no such button." });
  const link = alertLinks.readButton(token);
  const row = await control
    .selectFrom("destinations")
    .select(["id", "address", "settings"])
    .where("id", "=", link.destinationId)
    .where("kind", "=", kind)
    .executeTakeFirst();
  if (!row) throw unsigned("The destination of this message was deleted.");
  return { button, link, settings: openSettings(row, secrets) };
}

/**
 * Does what a button says.
 *
 * @param name - of the person, from the service
 * @param service - which names the person, such as "Slack"
 *
 * Throws `alert-link-unknown`, `alert-link-used` and `alert-resolved`.
 */
export async function doClick(
  { control, fanOut }: ClickDeps,
  { button, link }: Click,
  from: Actor,
  name: string,
  service: string,
): Promise<void> {
  const { action } = alertButtons[button];
  await followAlertLink(control, link, action, from, `${name} (${service})`);
  fanOut.wake();
}

const nameMax = 50;

/** A person's name as one short line. */
export function personName(name: string): string {
  return shorten(name.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim(), nameMax) || "Somebody";
}

/** The text that replaces clicked buttons: "Acknowledged by Ann". */
export function doneText(button: AlertButton, name: string): string {
  return `${alertButtons[button].done} by ${name}`;
}

export function unsigned(detail: string): ProblemError {
  return problem("interaction-signature-invalid", { detail });
}
