import type { Kysely } from "kysely";
import { roleMay } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import { readSignedText, signText } from "../core/signed-text.ts";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type AlertRow, findAlert } from "./alerts.ts";

/** Whom a link was sent to: an account, or a destination of the project. */
export type AlertLink = { alertId: string; accountId: string | null; destinationId: string };

const purpose = "alert";

/** Signs the links in messages of alerts, which acknowledge and resolve them without a session. */
export class AlertLinks {
  readonly #secret: string;
  readonly #baseUrl: string;

  constructor(secret: string, baseUrl: string) {
    this.#secret = secret;
    this.#baseUrl = baseUrl;
  }

  url({ alertId, accountId, destinationId }: AlertLink): string {
    const text = `${alertId}.${accountId ?? ""}.${destinationId}`;
    return `${this.#baseUrl}/alert/${signText(this.#secret, purpose, text)}`;
  }

  /** What a link's token is for. Throws `alert-link-unknown`. */
  read(token: string): AlertLink {
    const text = readSignedText(this.#secret, purpose, token);
    if (text === null) throw unknownLink();
    const [alertId, accountId, destinationId] = text.split(".");
    return { alertId: alertId!, accountId: accountId || null, destinationId: destinationId! };
  }
}

/** A link's alert, and whose link it is. */
export type OpenedLink = {
  alert: AlertRow;
  project: { name: string; slug: string };
  actor: Pick<Actor, "kind" | "id"> & { name: string };
};

/**
 * Opens a link. Throws `alert-link-unknown` once its recipient has left the project or may not change alerts, or the
 * destination was deleted or turned off.
 */
export async function openAlertLink(control: Kysely<ControlTables>, link: AlertLink): Promise<OpenedLink> {
  const project = await control
    .selectFrom("alerts")
    .innerJoin("projects", "projects.id", "alerts.projectId")
    .select(["projects.id", "projects.name", "projects.slug"])
    .where("alerts.id", "=", link.alertId)
    .executeTakeFirst();
  const actor = project && (await actorOf(control, project.id, link));
  if (!actor) throw unknownLink();
  const { id, name, slug } = project;
  return { alert: await findAlert(control, id, link.alertId), project: { name, slug }, actor };
}

async function actorOf(
  control: Kysely<ControlTables>,
  projectId: number,
  { accountId, destinationId }: AlertLink,
): Promise<OpenedLink["actor"] | null> {
  if (accountId === null) {
    const destination = await control
      .selectFrom("destinations")
      .select("name")
      .where("id", "=", destinationId)
      .where("projectId", "=", projectId)
      .where("enabled", "=", 1)
      .executeTakeFirst();
    return destination ? { kind: "nobody", id: null, name: destination.name } : null;
  }
  const member = await control
    .selectFrom("members")
    .innerJoin("accounts", "accounts.id", "members.accountId")
    .select(["members.role", "accounts.email"])
    .where("members.projectId", "=", projectId)
    .where("members.accountId", "=", accountId)
    .executeTakeFirst();
  if (!member || !roleMay(member.role, "alerts:change")) return null;
  return { kind: "account", id: accountId, name: member.email };
}

function unknownLink() {
  return problem("alert-link-unknown", {
    detail:
      "This link is not valid any more: its recipient has left the project, or the destination is turned off. Sign in to the dashboard to see the alert.",
  });
}
