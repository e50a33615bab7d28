import { createHmac, timingSafeEqual } from "node:crypto";
import type { Kysely } from "kysely";
import { roleMay } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type AlertRow, findAlert } from "./alerts.ts";

/** Whom a link was sent to: an account, or a destination of the project. */
export type AlertLink = { alertId: string; accountId: string | null; destinationId: string };

/** Signs the links in messages of alerts, which acknowledge and resolve them without a session. */
export class AlertLinks {
  readonly #secret: string;
  readonly #baseUrl: string;

  constructor(secret: string, baseUrl: string) {
    this.#secret = secret;
    this.#baseUrl = baseUrl;
  }

  url({ alertId, accountId, destinationId }: AlertLink): string {
    const payload = Buffer.from(`${alertId}.${accountId ?? ""}.${destinationId}`).toString("base64url");
    return `${this.#baseUrl}/alert/${payload}.${this.#sign(payload)}`;
  }

  /** What a link's token is for. Throws `alert-link-unknown`. */
  read(token: string): AlertLink {
    const [payload = "", signature = ""] = token.split(".");
    const expected = Buffer.from(this.#sign(payload));
    const given = Buffer.from(signature);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw unknownLink();
    const [alertId, accountId, destinationId] = Buffer.from(payload, "base64url").toString().split(".");
    return { alertId: alertId!, accountId: accountId || null, destinationId: destinationId! };
  }

  #sign(payload: string): string {
    return createHmac("sha256", this.#secret).update(`alert ${payload}`).digest("base64url");
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
